"""The rankers that `rankwright train` trains, and the parameters that its options give them."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from rankwright.cli.options import FILLING, SCALES, check_at_least, check_one_of, flag, option, option_of, parse_alphas
from rankwright.errors import ParameterError

if TYPE_CHECKING:
    from rankwright.measures import Measure

# The values of --ranker, and the public names of their classes.
RANKERS = {
    "ranksvm": "RankSVM",
    "order-preserving": "OrderPreservingRanker",
    "rankrls": "RankRLS",
    "greedy-rankrls": "GreedyRankRLS",
    "regression": "RegressionRanker",
    "rankboost": "RankBoost",
    "structured": "StructuredRanker",
    "kernel-rankrls": "KernelRankRLS",
    "kernel-structured": "KernelStructuredRanker",
}

# Options whose parameters have another name.
_PARAMETERS = {"max_features": "n_features", "rounds": "n_rounds", "thresholds": "n_thresholds"}
_COUNTS = ("cutoff", "max_features", "max_iter", "rounds", "thresholds", "patience")


def ranker_options(
    *,
    alpha: str | None = option(
        "LIST",
        "Values of the regularisation λ to choose from: 1,2,4 or 2^-5..2^5; auto (the default) is the "
        "ranker's own grid. A larger λ gives smaller weights.",
    ),
    rule: str | None = option(
        "best|one-standard-error",
        "Choose the best model (the default), or the simplest one whose difference from it is within one standard "
        "error.",
    ),
    loss: str | None = option(
        "NAME",
        "ranksvm: squared-hinge, hinge, huber-hinge or logistic; "
        "order-preserving: squared-hinge, huber-hinge or squared.",
    ),
    weights: str | None = option("NAME", "ranksvm: unit, per-query or gain-per-query; rankboost: unit or per-query."),
    margin: str | None = option("NAME", "ranksvm: unit or position."),
    standardize: str | None = option("NAME", "order-preserving: ndcg, dcg, wpd or zero-one."),
    cutoff: int | None = option(
        "K", "order-preserving: only the top K ranks count; by default the cutoff of --measure."
    ),
    normalize: bool = flag("--normalize", "order-preserving: divide by the number of pairs in a query."),
    solver: str | None = option(
        "NAME",
        "structured: bundle, cutting-plane, frank-wolfe, subgradient or conjugate-subgradient; "
        "ranksvm, order-preserving: newton or sgd.",
    ),
    bound: str | None = option(
        "convex|tight", "structured: which upper bound of 1 - measure to minimise; convex by default."
    ),
    position_weights: str | None = option(
        "NAME|LIST",
        "structured: linear, inverse-sqrt, discount, learned, or the weights of ranks 1, 2, … as 1,0.5,0.25.",
    ),
    rescale: str | None = option(
        "margin|slack", "structured: use the loss of a ranking as its margin (the default) or as a factor of its slack."
    ),
    early_stopping: bool = flag("--early-stopping", "Stop when the measure on validation queries no longer improves."),
    tol: float | None = option(
        "X",
        "ranksvm, order-preserving, structured: stop when the objective is at most this fraction above its "
        "minimum (structured: also at most this fraction of the possible gain over w = 0).",
    ),
    max_iter: int | None = option("N", "ranksvm, order-preserving, structured: the largest number of solver steps."),
    max_features: int | None = option(
        "K", "greedy-rankrls: the largest number of features; by default 10, or all if fewer."
    ),
    rounds: int | None = option("N", "rankboost: most rounds; default 300."),
    thresholds: int | None = option("N", "rankboost: the largest number of thresholds per feature; by default 255."),
    kernel: str | None = option(
        "NAME", "kernel-rankrls, kernel-structured: rbf (the default), poly, laplacian, cosine or linear."
    ),
    gamma: float | None = option(
        "X", "kernel-rankrls, kernel-structured: γ of the kernel; by default 1 / number of features."
    ),
    degree: float | None = option("D", "kernel-rankrls, kernel-structured: degree of the kernel poly; 3 by default."),
    patience: int | None = option("N", "rankboost: stop after N rounds without improvement on validation queries."),
    missing: str | None = FILLING,
) -> dict[str, Any]:
    """The options that are parameters of rankers; None and False for those not given."""
    return locals()


def ranker_class(name: str) -> Any:
    """The class of a ranker."""
    from rankwright.rankers.greedy_rankrls import GreedyRankRLS
    from rankwright.rankers.kernel_rankrls import KernelRankRLS
    from rankwright.rankers.kernel_structured import KernelStructuredRanker
    from rankwright.rankers.order_preserving import OrderPreservingRanker
    from rankwright.rankers.rankboost import RankBoost
    from rankwright.rankers.rankrls import RankRLS
    from rankwright.rankers.ranksvm import RankSVM
    from rankwright.rankers.regression import RegressionRanker
    from rankwright.rankers.structured import StructuredRanker

    check_one_of(RANKERS, ranker=name)
    others = (RankSVM, OrderPreservingRanker, RankRLS, GreedyRankRLS, RegressionRanker, RankBoost, StructuredRanker)
    return dict(zip(RANKERS, (*others, KernelRankRLS, KernelStructuredRanker), strict=True))[name]


def is_linear(ranker: str) -> bool:
    """Whether it learns weights, and so is trained on features that are scaled and have no missing values."""
    return "missing" in _parameters_of(ranker)


def has_kernel(ranker: str) -> bool:
    """Whether it compares documents, and so is trained on features that are scaled."""
    return "kernel" in _parameters_of(ranker)


def ranker_parameters(
    ranker: str, measures: str, convention: str, options: dict[str, Any], *, scale: str | None, has_valid: bool
) -> dict[str, Any]:
    """The parameters of a ranker from its options, as they were typed."""
    from rankwright.measures import parse_measures
    from rankwright.measures.conventions import convention_of
    from rankwright.models.kernels import KERNELS
    from rankwright.preparation.missing import MISSING
    from rankwright.selection.search import checked_rule, search

    check_at_least(1, **{name: options[name] for name in _COUNTS})
    for name in ("early_stopping", "patience"):
        if options[name] and not has_valid:
            raise ParameterError(f"{option_of(name)} measures validation queries: add --valid FILE")
    chosen_measures = parse_measures(measures)
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    for name, convert in (("alpha", _alpha), ("rule", checked_rule), ("position_weights", _position_weights)):
        if name in given:
            given[name] = convert(given[name])
    parameters = {
        "measures": chosen_measures,
        "convention": convention_of(convention).name,
        **_own_parameters(ranker, given),
    }
    check_one_of(MISSING, missing=options["missing"])
    check_one_of(KERNELS, kernel=options["kernel"])
    if "alpha" in _parameters_of(ranker):
        parameters.setdefault("alpha", search())
    if "measure" in _parameters_of(ranker):
        parameters["measure"] = _optimised(chosen_measures[0])
    check_one_of(SCALES, scale=scale)
    if scale is not None and not (is_linear(ranker) or has_kernel(ranker)):
        raise ParameterError(f"--scale is for linear rankers, and {ranker} does not need scaling: leave it out")
    return parameters


def _alpha(text: str) -> Any:
    """The option --alpha as the parameter."""
    from rankwright.selection.search import search

    alphas = parse_alphas(text)
    return alphas[0] if len(alphas) == 1 else search(*alphas)


def _optimised(measure: Measure) -> Measure:
    """The measure that structured is to optimise, checked."""
    from rankwright.losses.structured import checked_measure

    try:
        return checked_measure(measure)
    except ParameterError:
        raise ParameterError(
            f"--measure: structured optimises the first measure, which must be ndcg, ndcg@K or map, not {measure}"
        ) from None


def _position_weights(text: str) -> str | list[float]:
    """The option --position-weights as the parameter."""
    from rankwright.losses.structured import POSITION_WEIGHTS

    names = (*POSITION_WEIGHTS, "learned")
    if text in names:
        return text
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise ParameterError(
            f"--position-weights must be one of {', '.join(names)}, or numbers separated by commas, not {text!r}"
        ) from None


def _own_parameters(ranker: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, under the names of the ranker's parameters; one that it does not know is refused."""
    knows = _parameters_of(ranker)
    for name in given:
        if _PARAMETERS.get(name, name) not in knows:
            others = [other for other in RANKERS if _PARAMETERS.get(name, name) in _parameters_of(other)]
            told = " and ".join([", ".join(others[:-1]), others[-1]] if len(others) > 1 else others)
            raise ParameterError(f"{option_of(name)} is for {told}, not for {ranker}")
    return {_PARAMETERS.get(name, name): value for name, value in given.items()}


def _parameters_of(ranker: str) -> set[str]:
    return set(signature(ranker_class(ranker)).parameters)
