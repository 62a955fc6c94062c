"""`risk_bound`: how large an expected loss can be, from the queries that a ranker was trained on."""

from __future__ import annotations

from typing import Any, Literal

from rankwright.checks import check_choice, check_positive, check_probability
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import ParameterError
from rankwright.losses.listwise import ListwiseHinge
from rankwright.losses.loss import QueryLosses
from rankwright.losses.structured import StructuredHinge, checked_measure
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.theory.bound import RiskBound
from rankwright.theory.lipschitz import risk_of
from rankwright.theory.paper_bounds import listwise_bound, pairwise_bound
from rankwright.theory.scored import ScoredQueries
from rankwright.theory.vector_bounds import VectorBound, complexity_of_data, complexity_of_largest

Kind = Literal["theorem3", "corollary1", "corollary2", "theorem4", "corollary3", "argmax", "softmax", "ndcg"]
Constants = Literal["data", "largest"]
PAIRWISE = ("theorem3", "corollary1", "corollary2")
LISTWISE = ("theorem4", "corollary3")
VECTOR = ("argmax", "softmax", "ndcg")
CONSTANTS = ("data", "largest")
KINDS = (*PAIRWISE, *LISTWISE, *VECTOR)


def risk_bound(
    ranker: Any,
    queries: AnyQueries,
    delta: float = 0.05,
    kind: Kind = "ndcg",
    *,
    measure: str | Measure | None = None,
    position_weights: Any = None,
    temperature: float | None = None,
    constants: Constants | None = None,
    B: float | None = None,
    M: float | None = None,
    convention: str | Convention = "default",
) -> RiskBound:
    r"""risk ≤ empirical risk + complexity + confidence, with probability 1 − δ, for all linear rankers at once.

    As it holds for all of them, it holds for the one that was trained on these very queries. Queries are taken to be
    drawn independently from one distribution.

    Parameters
    ----------
    ranker : a fitted linear ranker, or a model that was read from a file
        Or a fitted scikit-learn Pipeline of scalers, SimpleImputer and a linear ranker.
    queries : Queries, in memory or read from files
        Those it was trained on; others will do as well.
    delta : float
        The probability that the bound does not hold.
    kind : str
        The bounds of Riezler and De Bona (paper P) for the number of pairs in wrong order:

        - "theorem3": full rankings; "corollary1": grades; "corollary2": two grades;

        theirs for 1 − measure:

        - "theorem4": the hinge summed over all m! rankings; "corollary3": AP, over C(m, rel) of them;

        and those for what they leave open, polynomial in the length of lists:

        - "argmax": the hinge of the worst ranking; "softmax": a soft-maximum over rankings; "ndcg": "argmax" for NDCG.
    measure : nDCG, or AP without a cutoff
        For theorem 4, "argmax" and "softmax"; "ndcg@10" by default.
    position_weights : str or array
        A of the joint feature map for NDCG, as in `StructuredHinge`; "discount" by default.
    temperature : float
        Of "softmax"; 0.01 by default.
    constants : str
        For "argmax", "softmax" and "ndcg". With "data", the default, the lengths of documents and lists enter by sums
        over the queries, and nothing is assumed of other queries. With "largest" their maxima do, which are taken to
        hold for all queries: a larger complexity, a smaller confidence term.
    B : float, optional
        The class of rankers is that of ‖w‖ ≤ B. A number must have been fixed before training; a longer w is scaled
        down to it, which leaves its rankings as they are. By default B is a power of two, and δ is shared among all of
        them, so that the choice may depend on the data: the least one that is no less than ‖w‖ for the bounds of
        paper P, the one that gives least for the others.
    M : float, optional
        No document has longer features; for the bounds of paper P, and with ``constants="largest"``. By default the
        longest of these queries.
    convention : whose rules nDCG and AP follow

    Examples
    --------
    >>> import rankwright as rw
    >>> made = rw.datasets.make_queries(3000, documents=10, n_features=5, n_correlated=0, noise=0.3, query_offset=0)
    >>> ranker = rw.RankRLS().fit(made.queries)
    >>> bound = rw.theory.risk_bound(ranker, made.queries)
    >>> bound.is_vacuous, rw.theory.risk_bound(ranker, made.queries, kind="theorem4").is_vacuous
    (False, True)
    """
    check_probability("delta", delta)
    check_choice("kind", kind, KINDS)
    if constants is not None:
        check_choice("constants", constants, CONSTANTS)
    for name, value in (("B", B), ("M", M), ("temperature", temperature)):
        if value is not None:
            check_positive(name, value)
    given = {"measure": measure, "position_weights": position_weights, "temperature": temperature}
    for name, value in (given | {"constants": constants, "M": M}).items():
        if value is not None and name not in options_of(kind, constants):
            also = " unless constants='largest'" if name == "M" else ""
            raise ParameterError(f"{name} has no effect with kind={kind!r}{also}: leave it out")
    scored = ScoredQueries(ranker, queries)
    if kind in PAIRWISE:
        return pairwise_bound(scored, kind, delta, B, M)
    hinge = _hinge(kind, measure, position_weights, convention)
    if kind in LISTWISE:
        return listwise_bound(scored, kind, hinge, delta, B, M)
    losses = hinge.on(scored.judgments)
    is_largest = constants == "largest"
    complexity = complexity_of_largest(scored, losses, M) if is_largest else complexity_of_data(scored, losses)
    bounded: QueryLosses = losses
    if kind == "softmax":
        soft = ListwiseHinge(hinge.measure, "softmax", temperature or 0.01, hinge.position_weights, convention)
        bounded = soft.on(scored.judgments)
    bound = VectorBound(kind, risk_of(hinge), scored, losses, bounded, complexity, delta)
    return bound.best() if B is None else bound.within(B)


def options_of(kind: str, constants: str | None) -> set[str]:
    """Which options play a part in a kind of bound."""
    options = {"M"} if kind not in VECTOR or constants == "largest" else set()
    if kind not in PAIRWISE:
        options |= {"measure", "position_weights"}
    if kind in VECTOR:
        options.add("constants")
    return options | {"temperature"} if kind == "softmax" else options


def _hinge(
    kind: str, measure: str | Measure | None, position_weights: Any, convention: str | Convention
) -> StructuredHinge:
    chosen = checked_measure(("map" if kind == "corollary3" else "ndcg@10") if measure is None else measure)
    for of_kind, name in (("corollary3", "AP"), ("ndcg", "nDCG")):
        if kind == of_kind and chosen.name != name:
            raise ParameterError(f"kind={kind!r} is for {name}, not for measure {chosen}")
    by_default = "linear" if chosen.name == "AP" else "discount"
    return StructuredHinge(chosen, by_default if position_weights is None else position_weights, "convex", convention)
