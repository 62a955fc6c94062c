"""`fit`: every linear ranker judged on held-out queries; one chosen, trained again, and certified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankwright.checks import check_choice, check_positive, check_probability, check_whole
from rankwright.data.as_queries import as_parts
from rankwright.data.table_columns import TableColumns
from rankwright.errors import ParameterError
from rankwright.fitting.families import FAMILIES
from rankwright.fitting.job import Job
from rankwright.fitting.nonlinear import NONLINEAR
from rankwright.fitting.preparing import MISSING_OPTIONS, TRANSFORM_OPTIONS, Auto
from rankwright.fitting.request import Request
from rankwright.fitting.result import FitResult
from rankwright.fitting.work import Work
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, one_measure
from rankwright.preparation.missing import MissingName
from rankwright.preparation.transforms import TransformName
from rankwright.progress import Tell
from rankwright.selection.search import Rule, checked_rule

RANKERS = tuple(family.name for family in FAMILIES)
NONLINEAR_RANKERS = tuple(family.name for family in NONLINEAR)


def fit(
    train: Any,
    *,
    valid: Any = None,
    test: Any = None,
    label: str | None = None,
    qid: str | None = None,
    doc: str | None = None,
    features: Sequence[str] | None = None,
    one_hot: Sequence[str] | None = None,
    measure: str | Measure = "ndcg@10",
    rankers: Sequence[str] | None = None,
    nonlinear: bool = False,
    folds: int = 5,
    rule: Rule = "one-standard-error",
    convention: str | Convention = "default",
    baseline: str | None = None,
    costs: Sequence[float] | None = None,
    missing: MissingName | Auto = "auto",
    transform: TransformName | Auto = "auto",
    delta: float = 0.05,
    budget: float | None = None,
    seed: int = 0,
    work: Work | None = None,
    progress: Tell | None = None,
) -> FitResult:
    """Try the linear rankers, choose one by held-out queries, train it on all, and tell how good it is.

    With ``nonlinear=True``, non-linear rankers join: their settings are drawn at random, round by round, until the
    budget ends. A linear ranker is still chosen unless another one is better by more than one standard error of their
    difference, query by query.

    Linear rankers get features scaled by their spread within queries; missing values are filled in and indicated, and
    features with heavy tails may be taken as logarithms or quantiles. All of this becomes part of the model. Other
    rankers take features as they are.

    Where the best λ of a ranker is at an end of its grid, the grid is widened. `FitResult.save` writes what comes out.

    Parameters
    ----------
    train, valid, test : Queries, data frames or paths of files
        Settings and rankers are chosen on ``valid`` if given, else by cross-validation over ``folds`` parts of the
        training queries. ``test`` decides nothing.
    label, qid, doc, features, one_hot : which columns of frames and tables are what, as `from_frame` takes them
        Validation and test data have the features of the training data, by their names.
    measure, convention : what counts, and whose rules it follows
    rankers : names from ``RANKERS`` and ``NONLINEAR_RANKERS``; by default all that are linear
    nonlinear : try all non-linear rankers as well
        Those whose library is not installed are left out, and the extra to install is told.
    folds, seed : how many parts for cross-validation, and how queries are dealt to them
        The seed is also that of settings that are drawn, and of non-linear rankers that draw something in training.
    rule : "one-standard-error" takes the simplest ranker whose mean difference from the best is within one standard
        error of that difference, first for each ranker and then among rankers; or "best"
        A linear ranker is simpler than a formula, and that is simpler than trees, kernels and networks; of the same
        kind, fewer features are simpler.
    baseline : the name of a feature to compare with; one that ranks well the smaller it is has a minus in front.
        By default the best single feature.
    costs : of each feature, optional
        The rule then goes by the cost of the features used instead of their number.
    missing : "mean" or "query-mean"
        What stands for a missing value: the mean over all documents, or over those of its query. By default what is
        better on held-out queries. Kernel maps and networks fill in the same; formulas take the mean over all
        documents, and trees send a missing value to a side of each split.
    transform : "none", "log" or "quantile"
        Of features with heavy tails, such as counts, times and sizes. By default the same.
    delta : the probability that a certificate is wrong
    budget : seconds, optional
        Rankers that are not done by then are left out; the first one is always tried. Without a budget, linear rankers
        take the time they need, and the search of non-linear ones takes five minutes at most.
    work : Work, optional
        Where to keep what is finished.
    progress : function, optional
        Called with `Progress`: what is being trained, how many parts are done, in fractions, and how many there are.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=60, documents=10, n_features=8, n_correlated=2, seed=1).queries
    >>> result = rw.fit(queries[:40], test=queries[40:], rankers=["regression", "rankrls"])
    >>> result.model, result.evaluated_on
    (LinearModel(RankRLS, 8 features, 8 with a weight), 'test')
    """
    options = checked_options(
        measure=measure,
        rankers=rankers,
        nonlinear=nonlinear,
        folds=folds,
        rule=rule,
        convention=convention,
        baseline=baseline,
        missing=missing,
        transform=transform,
        delta=delta,
        budget=budget,
        seed=seed,
    )
    columns = TableColumns.of(label=label, qid=qid, doc=doc, features=features, one_hot=one_hot)
    queries, others = as_parts(train, columns, validation=valid, test=test)
    given = {"train": queries, "valid": others["validation"], "test": others["test"]}
    given_queries = {role: each for role, each in given.items() if each is not None}
    request = Request(given_queries, {**options, "costs": costs})
    return Job(request, work or Work(None, ""), progress).run()


def checked_options(
    *,
    measure: Any,
    rankers: Any,
    nonlinear: Any,
    folds: Any,
    rule: Any,
    convention: Any,
    missing: Any,
    transform: Any,
    delta: Any,
    budget: Any,
    seed: Any,
    **others: Any,
) -> dict[str, Any]:
    """The options of `fit` as a `Request` takes them; what can be found wrong without queries is refused here."""
    check_probability("delta", delta)
    check_whole("folds", folds, 2)
    check_whole("seed", seed, 0)
    if budget is not None:
        check_positive("budget", budget)
    check_choice("missing", missing, MISSING_OPTIONS)
    check_choice("transform", transform, TRANSFORM_OPTIONS)
    return {
        "measure": one_measure(measure),
        "rankers": _checked_rankers(RANKERS if rankers is None else rankers, nonlinear),
        "folds": folds,
        "rule": checked_rule(rule),
        "convention": convention_of(convention),
        "missing": missing,
        "transform": transform,
        "delta": delta,
        "budget": budget,
        "seed": seed,
        **others,
    }


def _checked_rankers(rankers: Any, nonlinear: Any) -> list[str]:
    """The names of rankers in the order that they are tried in; with ``nonlinear`` all of these as well."""
    known = (*RANKERS, *NONLINEAR_RANKERS)
    wanted = [rankers] if isinstance(rankers, str) else list(rankers)
    unknown = next((name for name in wanted if name not in known), None)
    if unknown is not None or not wanted:
        raise ParameterError(f"rankers must be some of {', '.join(known)}, not {unknown!r}")
    if not isinstance(nonlinear, bool):
        raise ParameterError(f"nonlinear must be True or False, not {nonlinear!r}")
    wanted += NONLINEAR_RANKERS if nonlinear else ()
    return [name for name in known if name in wanted]
