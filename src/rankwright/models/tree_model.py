"""`TreeModel`: the trees that LightGBM or XGBoost has made, which rank without either."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankwright.errors import ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.models.model import Model
from rankwright.trees.lightgbm_text import parsed_lightgbm
from rankwright.trees.parsed import ParsedTrees
from rankwright.trees.trees import Trees
from rankwright.trees.xgboost_json import parsed_xgboost
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.models.model_reader import ModelReader

# Who reads the text of which library.
_PARSERS: Mapping[str, Callable[[str], ParsedTrees]] = {"lightgbm": parsed_lightgbm, "xgboost": parsed_xgboost}
_NAMES = {"lightgbm": "LightGBM", "xgboost": "XGBoost"}


class TreeModel(Model):
    """Trees of LightGBM or XGBoost: scores are sums of leaves, equal to the raw scores of the library, without it.

    It predicts, ranks, is measured, explained and exported as other models; it cannot be trained. Missing values (NaN)
    go where the library sends them. In sparse matrices, what is not stored is 0, as everywhere in Rankwright and in
    LightGBM; XGBoost itself takes it for missing.

    Parameters
    ----------
    measures : such as "ndcg@10, map"
        The first one is what ``score`` tells.
    convention : name of a Convention

    Attributes
    ----------
    library_ : "lightgbm" or "xgboost"
    text_ : the model as the library writes it, which the library can load again
    n_features_in_, feature_names_in_
        ``feature_names_in_`` is there only if the training data named their features.
    ranker_ : the name of the class that was trained
    parameters_ : its parameters; those that JSON cannot hold as text
    training_ : what was noted when the model was saved, such as the data and the measures
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, ...]]] = {4: ("library", "trees")}
    why_no_scaler: ClassVar[str] = (
        "compares features with thresholds, whatever their scale, so train it on the features as they are"
    )

    library_: str
    text_: str
    _trees: Trees

    @classmethod
    def of_lightgbm(cls, text: str, **told: Any) -> Self:
        """The model of LightGBM's text, ``Booster.model_to_string()`` or what ``Booster.save_model`` writes.

        What else is known of it may be ``told``: feature_names (by default those of the text), ranker, parameters,
        training. Scores are raw, as by ``Booster.predict(X, raw_score=True)``.
        """
        return cls._of("lightgbm", text, told)

    @classmethod
    def of_xgboost(cls, json_text: str, **told: Any) -> Self:
        """The model of XGBoost's JSON, ``Booster.save_raw("json").decode()`` or what ``save_model("….json")`` writes.

        All of its trees count. What else is known of it may be ``told``, as for ``of_lightgbm``. Scores are raw, as by
        ``Booster.predict(…, output_margin=True)``.
        """
        return cls._of("xgboost", json_text, told)

    @classmethod
    def _of(cls, library: str, text: str, told: Mapping[str, Any], n_features: int | None = None) -> Self:
        if not isinstance(text, str):
            raise ParameterError(f"the model of {_NAMES[library]} must be a text, not {type(text).__name__}")
        parsed = _PARSERS[library](text)
        about = {
            "feature_names": parsed.feature_names,
            "ranker": _NAMES[library],
            "parameters": {},
            "training": {},
            **told,
        }
        return cls._new(library, text, parsed.trees, parsed.n_features if n_features is None else n_features, about)

    @classmethod
    def _new(cls, library: str, text: str, trees: Trees, n_features: int, about: Mapping[str, Any]) -> Self:
        names = about["feature_names"]
        if names is not None and len(names) != n_features:
            raise ParameterError(f"feature_names has {len(names):,} names for {n_features:,} features")
        model = cls.new(n_features, **about)
        model.library_, model.text_, model._trees = library, text, trees
        return model

    def trees(self) -> Trees:
        """Its trees in one form for both libraries."""
        return self._trees

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked."""
        return self._trees.scores(x)

    def used_features(self) -> Columns:
        """The features that nodes compare."""
        return self._trees.used_features()

    def cut_to(self, n_features: int) -> Self:
        """The model for data whose features after the first n are all 0, and not there."""
        about = self.about(n_features)
        return type(self)._new(self.library_, self.text_, self._trees, n_features, about).with_memory_of(self)

    def fields(self) -> dict[str, Any]:
        """The library, and its text line by line."""
        return {"library": self.library_, "trees": self.text_.split("\n")}

    @classmethod
    def read(cls, file: ModelReader, **told: Any) -> Self:
        """The model whose fields a file has; the library's text is looked at node by node."""
        library = file.content["library"]
        if not isinstance(library, str) or library not in _PARSERS:
            file.refuse(f"library must be 'lightgbm' or 'xgboost', not {file.shown(library)}")
        lines = file.listed("trees", "of lines of text")
        if not all(isinstance(line, str) for line in lines):
            file.refuse("trees must be a list of lines of text")
        try:
            model = cls._of(library, "\n".join(lines), told, file.n_features)
        except ParameterError as error:
            file.refuse(str(error))
        used = model.used_features()
        if len(used) and used[-1] >= file.n_features:
            file.refuse(f"trees: a node compares feature {used[-1] + 1}, n_features is {file.n_features}")
        return model

    def __repr__(self) -> str:
        if not hasattr(self, "_trees"):
            return "TreeModel(not read from a file yet)"
        n = len(self._trees)
        return self._described(f"{n:,} tree{'s' * (n != 1)}")
