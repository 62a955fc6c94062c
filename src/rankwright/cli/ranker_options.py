"""The rankers that `rankwright train` trains, and the parameters that its options give them."""

from __future__ import annotations

from importlib import import_module
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
    "kernel-map": "MappedRanker",
    "basis": "BasisRanker",
    "neural": "NeuralRanker",
    "boosted": "BoostedRanker",
}

# What kernel-map may train on its columns.
_BEHIND = ("rankrls", "ranksvm", "order-preserving", "structured", "regression")
_MAP_OPTIONS = ("components", "kind", "gamma", "scaling", "behind", "seed")

# Options whose parameters have another name.
_PARAMETERS = {
    "max_features": "n_features",
    "rounds": "n_rounds",
    "seed": "random_state",
    "terms": "n_terms",
    "thresholds": "n_thresholds",
    "trees": "n_trees",
}
_COUNTS = (
    "components",
    "cutoff",
    "epochs",
    "max_features",
    "max_iter",
    "members",
    "patience",
    "rounds",
    "terms",
    "thresholds",
    "trees",
)


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
        "order-preserving: squared-hinge, huber-hinge or squared; "
        "boosted, neural: order-preserving, preorder, ranksvm, position-sensitive, structured, structured-softmax, …; "
        "boosted: also lambdarank, xendcg or rank:ndcg.",
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
    terms: int | None = option("K", "basis: the largest number of terms in the formula; by default 10."),
    hinges: int | None = option("N", "basis: the number of knots of each feature; by default 8, and 0 for no hinges."),
    rounds: int | None = option("N", "rankboost: most rounds; default 300."),
    thresholds: int | None = option("N", "rankboost: the largest number of thresholds per feature; by default 255."),
    patience: int | None = option(
        "N", "rankboost, boosted, neural: stop after N rounds or epochs without improvement on validation queries."
    ),
    components: int | None = option("N", "kernel-map: the number of columns of the kernel; by default 1000."),
    kind: str | None = option("NAME", "kernel-map: fourier (the default), orthogonal or nystroem."),
    gamma: str | None = option(
        "LIST",
        "kernel-map: values of γ in exp(-γ‖x - y‖²) to choose from; auto (the default) goes by the data. "
        "kernel-rankrls, kernel-structured: γ of the kernel; by default 1 / number of features.",
    ),
    scaling: str | None = option(
        "NAME",
        "kernel-map: scale features by standard, quantile or within-query-spread; auto (the default) tries all three.",
    ),
    behind: str | None = option(
        "NAME",
        f"kernel-map: what to train on its columns: {', '.join(_BEHIND)}; rankrls by default.",
    ),
    hidden: str | None = option("LIST", "neural: widths of the hidden layers, such as 64,32; 0 for none."),
    epochs: int | None = option("N", "neural: how often each query is trained on."),
    members: int | None = option("N", "neural: how many networks to train and take the mean of; default 1."),
    learning_rate: float | None = option(
        "X", "boosted: the part of each tree that counts; default 0.1. neural: the greatest learning rate."
    ),
    dropout: float | None = option("X", "neural: the share of hidden outputs that are dropped in a training step."),
    library: str | None = option("lightgbm|xgboost", "boosted: what grows the trees; lightgbm by default."),
    validation_share: float | None = option(
        "X",
        "boosted, neural: the share of the training queries that are held out to choose the trees or the epoch, where "
        "there is no --valid; default 0 for boosted, and 0.1 for neural.",
    ),
    seed: int | None = option("N", "kernel-map, boosted, neural, ranksvm, order-preserving: the random seed."),
    trees: int | None = option("N", "boosted: most trees; default 300."),
    leaves: int | None = option("N", "boosted: the largest number of leaves of a tree; default 31."),
    kernel: str | None = option(
        "NAME", "kernel-rankrls, kernel-structured: rbf (the default), poly, laplacian, cosine or linear."
    ),
    degree: float | None = option("D", "kernel-rankrls, kernel-structured: degree of the kernel poly; 3 by default."),
    missing: str | None = FILLING,
) -> dict[str, Any]:
    """The options that are parameters of rankers; None and False for those not given."""
    return locals()


def ranker_class(name: str) -> Any:
    """The class of a ranker."""
    check_one_of(RANKERS, ranker=name)
    return getattr(import_module("rankwright"), RANKERS[name])  # which loads the ranker that is asked for, and no other


def is_linear(ranker: str) -> bool:
    """Whether it learns weights, and so is trained on features that are scaled and have no missing values."""
    from rankwright.models.linear_model import LinearScorer

    return issubclass(ranker_class(ranker), LinearScorer)


def has_kernel(ranker: str) -> bool:
    """Whether it compares documents, and so is trained on features that are scaled."""
    return "kernel" in _parameters_of(ranker)


def ranker_parameters(
    ranker: str, measures: str, convention: str, options: dict[str, Any], *, scale: str | None, has_valid: bool
) -> dict[str, Any]:
    """The parameters of a ranker from its options, as they were typed."""
    if ranker == "kernel-map":
        return _behind_kernel_map(measures, convention, options, scale=scale, has_valid=has_valid)
    from rankwright.measures import parse_measures
    from rankwright.measures.conventions import convention_of
    from rankwright.models.kernels import KERNELS
    from rankwright.preparation.missing import MISSING
    from rankwright.selection.search import checked_rule, search

    check_at_least(1, **{name: options[name] for name in _COUNTS})
    check_at_least(0, seed=options["seed"])
    for name in ("early_stopping", "patience"):
        if options[name] and not has_valid and ranker != "neural" and not options["validation_share"]:
            raise ParameterError(f"{option_of(name)} measures validation queries: add --valid FILE")
    chosen_measures = parse_measures(measures)
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    for name, convert in (
        ("alpha", _alpha),
        ("rule", checked_rule),
        ("position_weights", _position_weights),
        ("gamma", _gamma),
        ("hidden", _hidden),
    ):
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


def _behind_kernel_map(
    measures: str, convention: str, options: dict[str, Any], *, scale: str | None, has_valid: bool
) -> dict[str, Any]:
    """The map, and the ranker on its columns."""
    from rankwright.maps.kernel_map import KINDS, KernelMap
    from rankwright.maps.standardised import SCALINGS
    from rankwright.preparation.missing import MISSING
    from rankwright.selection.search import search

    behind = options["behind"] or "rankrls"
    check_one_of(_BEHIND, behind=behind)
    check_one_of(KINDS, kind=options["kind"])
    check_one_of((*SCALINGS, "auto"), scaling=options["scaling"])
    check_one_of(MISSING, missing=options["missing"])
    check_at_least(1, components=options["components"])
    check_at_least(0, seed=options["seed"])
    if scale is not None:
        raise ParameterError("--scale is for linear rankers, and kernel-map scales by --scaling: leave it out")
    scaling = options["scaling"] or "auto"
    own: dict[str, Any] = {
        "gamma": search() if options["gamma"] is None else _values(options["gamma"]),
        "scaling": search() if scaling == "auto" else scaling,
    }
    for name, parameter in (
        ("kind", "kind"),
        ("components", "n_components"),
        ("missing", "missing"),
        ("seed", "random_state"),
    ):
        if options[name] is not None:
            own[parameter] = options[name]
    rest = {name: None if name in (*_MAP_OPTIONS, "missing") else value for name, value in options.items()}
    parameters = ranker_parameters(behind, measures, convention, rest, scale=None, has_valid=has_valid)
    return {"map": KernelMap(**own), "ranker": ranker_class(behind)(**parameters)}


def _values(text: str) -> Any:
    """The option --gamma as the parameter."""
    from rankwright.selection.search import search

    if text == "auto":
        return search()
    gammas = parse_alphas(text, "--gamma")
    return gammas[0] if len(gammas) == 1 else search(*gammas)


def _gamma(text: str) -> float:
    """The option --gamma of a ranker that has one kernel."""
    gammas = parse_alphas(text, "--gamma")
    if len(gammas) > 1:
        raise ParameterError("--gamma: only kernel-map chooses among several; give one value")
    return gammas[0]


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


def _hidden(text: str) -> tuple[int, ...]:
    """The option --hidden as the parameter."""
    try:
        widths = tuple(int(word) for word in text.split(","))
    except ValueError:
        widths = (-1,)
    if widths == (0,):
        return ()
    if min(widths) < 1:
        raise ParameterError(f"--hidden must be whole numbers of at least 1, such as 64,32, or 0, not {text!r}")
    return widths


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
    if ranker == "kernel-map":
        return {*(_PARAMETERS.get(name, name) for name in _MAP_OPTIONS), *_parameters_of("rankrls")}
    return set(signature(ranker_class(ranker)).parameters)
