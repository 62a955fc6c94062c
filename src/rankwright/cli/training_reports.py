"""What `rankwright train` tells of rankers that are not linear; and which report is for which ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rankwright.cli.training_report import StructuredReport, TrainingReport, among
from rankwright.evaluation.tables import regularisation
from rankwright.maps.terms import where_slog

if TYPE_CHECKING:
    from rankwright.measures.measure import Measure
    from rankwright.preparation.preparation import Preparation
    from rankwright.selection.search import Estimate


@dataclass(frozen=True, eq=False)
class BoostingReport(TrainingReport):
    """The same of a fitted `RankBoost`."""

    _how_to_be_measured: ClassVar[str] = "add --valid FILE"

    @property
    def _features_used(self) -> int:
        return len(set(self.ranker.stump_features_.tolist()))

    def _judgement(self) -> tuple[str | None, dict[Measure, Estimate]]:
        ranker = self.ranker
        if not ranker.path_.valid or ranker.n_rounds_ == 0:
            return None, {}
        return "valid", {measure: told[ranker.n_rounds_ - 1] for measure, told in ranker.path_.valid.items()}

    def _lines(self) -> list[tuple[str, str]]:
        ranker = self.ranker
        tried = len(ranker.path_) if ranker.path_.valid else 1
        return [
            ("rounds", f"{ranker.n_rounds_:,}{among(tried)}"),
            ("loss", f"{ranker.loss_:.8g}, from {ranker.path_.losses[0]:.8g}"),
            ("features", f"{self._features_used:,} of {ranker.n_features_in_:,} in a stump"),
        ]

    def _figures(self) -> dict[str, Any]:
        ranker = self.ranker
        return {
            "rounds": ranker.n_rounds_,
            "rounds_tried": len(ranker.path_),
            "loss": ranker.loss_,
            "features_used": self._features_used,
        }


@dataclass(frozen=True, eq=False)
class TreesReport(TrainingReport):
    """The same of a fitted `BoostedRanker`."""

    _how_to_be_measured: ClassVar[str] = "add --valid FILE or --validation-share"

    @property
    def _features_used(self) -> int:
        return len(self.ranker.model().used_features())

    def _judgement(self) -> tuple[str | None, dict[Measure, Estimate]]:
        ranker = self.ranker
        told = {measure: estimates[ranker.n_trees_ - 1] for measure, estimates in ranker.path_.valid.items()}
        judged_on = "valid" if ranker._seen_queries["valid"] else "held-out"
        return (judged_on, told) if told else (None, {})

    def _lines(self) -> list[tuple[str, str]]:
        ranker = self.ranker
        tried = len(ranker.path_) if ranker.path_.valid else 1
        return [
            ("loss", f"{ranker.loss}, by {ranker.library}"),
            ("trees", f"{ranker.n_trees_:,}{among(tried)}"),
            ("features", f"{self._features_used:,} of {ranker.n_features_in_:,} in a tree"),
        ]

    def _figures(self) -> dict[str, Any]:
        ranker = self.ranker
        return {
            "loss": str(ranker.loss),
            "library": ranker.library,
            "trees": ranker.n_trees_,
            "trees_tried": len(ranker.path_),
            "features_used": self._features_used,
        }


@dataclass(frozen=True, eq=False)
class NetworkReport(TrainingReport):
    """The same of a fitted `NeuralRanker`."""

    _how_to_be_measured: ClassVar[str] = "add --valid FILE"

    @property
    def _features_used(self) -> int:
        return len(self.ranker.network_.used)

    def _judgement(self) -> tuple[str | None, dict[Measure, Estimate]]:
        told = self.ranker.valid_
        judged_on = "valid" if self.ranker._seen_queries["valid"] else "held-out"
        return (judged_on, told) if told else (None, {})

    @property
    def _epochs(self) -> list[int]:
        """The epoch that each member was kept of."""
        return [path.kept for path in self.ranker.paths_]

    @property
    def _losses(self) -> tuple[float, float]:
        """The mean loss of a query in the first epoch, and in the one that was kept, over all members."""
        paths = self.ranker.paths_
        first, kept = sum(path.losses[0] for path in paths), sum(path.losses[path.kept - 1] for path in paths)
        return float(first) / len(paths), float(kept) / len(paths)

    def _lines(self) -> list[tuple[str, str]]:
        ranker = self.ranker
        widths = " → ".join(str(len(biases)) for _, biases in ranker.network_.layers)
        tried = len(ranker.paths_[0]) if ranker.valid_ else 1
        return [
            ("layers", f"{len(ranker.network_.layers[0].weights)} → {widths}, {ranker.activation}"),
            ("epochs", f"{', '.join(map(str, self._epochs))}{among(tried)}"),
            ("loss", f"{self._losses[1]:.6g}, from {self._losses[0]:.6g} in the first epoch"),
            ("features", f"{self._features_used:,} of {ranker.n_features_in_:,} with a weight"),
        ]

    def _figures(self) -> dict[str, Any]:
        ranker = self.ranker
        return {
            "layers": [len(biases) for _, biases in ranker.network_.layers],
            "epochs": self._epochs,
            "epochs_tried": [len(path) for path in ranker.paths_],
            "loss": self._losses[1],
            "features_used": self._features_used,
        }


@dataclass(frozen=True, eq=False)
class MappedReport(TrainingReport):
    """The same of a fitted `MappedRanker`."""

    @property
    def _behind(self) -> TrainingReport:
        """What is told of the ranker on the columns."""
        return TrainingReport(self.ranker.ranker_, None)

    @property
    def _features_used(self) -> int:
        return len(self.ranker.model().used_features())

    def _judgement(self) -> tuple[str | None, dict[Measure, Estimate]]:
        return self._behind._judgement()

    def _lines(self) -> list[tuple[str, str]]:
        ranker, behind = self.ranker, self._behind
        chosen = ", ".join(f"{name} {_told(value)}" for name, value in ranker.setting_.items())
        own = type(ranker.ranker_).__name__
        return [
            ("map", f"{ranker.map_.n_columns:,} columns; {chosen}{among(len(ranker.choices_))}"),
            ("alpha", f"{regularisation(ranker.alpha_)}{among(behind._n_alphas)} (regularisation λ of {own})"),
            *(behind._objective_lines() if behind._has_certificate else []),
            ("features", f"{self._features_used:,} of {ranker.n_features_in_:,} used"),
        ]

    def _figures(self) -> dict[str, Any]:
        ranker = self.ranker
        return {
            "alpha": float(ranker.alpha_),
            "alphas_tried": self._behind._n_alphas,
            "columns": ranker.map_.n_columns,
            **ranker.setting_,
            "maps_tried": max(1, len(ranker.choices_)),
            "features_used": self._features_used,
        }


def _told(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False)
class FormulaReport(TrainingReport):
    """The same of a fitted `BasisRanker`, and its formula."""

    @property
    def _n_alphas(self) -> int:
        return len(self.ranker.paths_)

    @property
    def _features_used(self) -> int:
        return len(self.ranker.terms_.used)

    def _judgement(self) -> tuple[str | None, dict[Measure, Estimate]]:
        step = self.ranker.path_[len(self.ranker.terms_.terms) - 1]
        return ("valid", step.valid) if step.valid else ("held-out", step.lqo)

    def _lines(self) -> list[tuple[str, str]]:
        ranker = self.ranker
        return [
            ("alpha", f"{regularisation(ranker.alpha_)}{among(self._n_alphas)} (regularisation λ)"),
            ("terms", f"{len(ranker.terms_.terms):,}, selected from {ranker.n_candidates_:,}"),
            ("features", f"{self._features_used:,} of {ranker.n_features_in_:,} in a term"),
            ("formula", ranker.formula_text() + where_slog(ranker.formula_text())),
            ("passes", self._effort()),
        ]

    def _figures(self) -> dict[str, Any]:
        ranker = self.ranker
        return {
            "alpha": float(ranker.alpha_),
            "alphas_tried": self._n_alphas,
            "terms": len(ranker.terms_.terms),
            "candidates": ranker.n_candidates_,
            "features_used": self._features_used,
            "formula": ranker.formula_text(),
            "passes": int(ranker.passes_),
        }


def report_of(ranker: Any, by: Preparation | None) -> TrainingReport:
    """What to tell of a fitted ranker, trained on columns that a preparation made of features."""
    if hasattr(ranker, "terms_"):
        return FormulaReport(ranker, by)
    if hasattr(ranker, "stump_weights_"):
        return BoostingReport(ranker, by)
    if hasattr(ranker, "map_"):
        return MappedReport(ranker, by)
    if hasattr(ranker, "n_trees_"):
        return TreesReport(ranker, by)
    if hasattr(ranker, "network_"):
        return NetworkReport(ranker, by)
    return StructuredReport(ranker, by) if hasattr(ranker, "argmax_calls_") else TrainingReport(ranker, by)
