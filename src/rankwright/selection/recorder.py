"""Makes steps of a path of what a selector has come to, and tells what measures say of them."""

from __future__ import annotations

from collections.abc import Callable
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import Any, Literal

import numpy as np

from rankwright.data.part import Part
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.engines.engine import Engine
from rankwright.evaluation.per_query import measure_values
from rankwright.judgments.judgments import Judgments
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.preparation.formula import linear_scores
from rankwright.selection.forward import HeldOutMeasure, SearchPlan
from rankwright.selection.path import Step
from rankwright.selection.search import estimate_of
from rankwright.selection.selectors import Selector, WeightsByPart
from rankwright.types import Array, Columns

# Weights of models that wait for being measured together may take so many bytes, …
_WAITING_BYTES = 1 << 24
# … or this share of the limit of memory: then each time takes a reading of the data. So may values that are kept:
# further ones lie in a file.
_WAITING_SHARE = 16

# A part, columns, their weights in a model: scores of documents, and what they are held against.
_Scored = Callable[[Part, Columns, Any], tuple[Array, Judgments]]


class ColumnScores:
    """Scores of a part's documents by some columns of its features."""

    def held_out(self, part: Part, columns: Columns, weights: WeightsByPart) -> tuple[Array, Judgments]:
        """With the weights that each query has without it."""
        return part.centred.scores(columns, weights.of(part)), part.judgments

    def scored(self, part: Part, columns: Columns, weights: Array) -> tuple[Array, Judgments]:
        """With the same weights for all."""
        return linear_scores(part.x[:, columns], weights), part.queries.judgments


class Recorder:
    """Notes steps. Measures are computed for many of them in one reading of the queries.

    Of steps with ``kept_sizes`` features, it keeps for each held-out query the value that decides. ``scores`` tells what
    columns are, if they are not the features.
    """

    def __init__(
        self,
        engine: Engine,
        valid: AnyQueries | None,
        measures: tuple[Measure, ...],
        convention: Convention,
        *,
        tell_all: bool,
        kept_sizes: frozenset[int],
        scores: ColumnScores | None = None,
    ) -> None:
        self._engine, self._scores = engine, scores or ColumnScores()
        self._valid = engine_of(valid) if valid is not None and measures else None
        self._tell_held_out = bool(measures) and (tell_all or valid is None)
        self._measures, self._convention = measures, convention
        self._most_bytes = max(_WAITING_BYTES, (engine.memory or 0) // _WAITING_SHARE)
        self._kept_sizes, self._kept = kept_sizes, dict[Step, tuple[int, int]]()  # where in the file, how many bytes
        in_memory = 0 if engine.memory is None else self._most_bytes  # 0: all of them
        self._file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(in_memory)  # noqa: SIM115 - see close
        self._steps: list[Step] = []
        self._waiting: list[tuple[Step, WeightsByPart | None]] = []  # those of its features without each query

    def note(
        self, selector: Selector, plan: SearchPlan, action: Literal["add", "drop"], feature: int, rating: float
    ) -> None:
        """Note the step that has just been done."""
        selected, criterion = selector.selected, plan.criterion
        negated = isinstance(criterion, HeldOutMeasure) and not criterion.measure.lower_is_better
        step = Step(
            action,
            feature,
            tuple(selected.features),
            selected.final_weights(),
            -rating if negated else rating,
            float(plan.costs[selected.features].sum()),
            estimate_of(selected.query_errors),
        )
        self._steps.append(step)
        if not self._measures:
            self._keep(step, selected.query_errors)
        else:
            self._waiting.append((step, selected.held_out_weights_by_part() if self._tell_held_out else None))
            if sum(weights.nbytes for _, weights in self._waiting if weights is not None) > self._most_bytes:
                self._measure()

    def steps(self) -> tuple[Step, ...]:
        """The steps noted since the last call, all measured."""
        self._measure()
        steps, self._steps = tuple(self._steps), []
        return steps

    def _measure(self) -> None:
        steps = [step for step, _ in self._waiting]
        if steps and self._tell_held_out:
            held_out = self._values(
                self._engine, self._scores.held_out, steps, [weights for _, weights in self._waiting]
            )
            for step, values in zip(steps, held_out, strict=True):
                step.lqo.update(zip(self._measures, map(estimate_of, values), strict=True))
                if self._valid is None:
                    self._keep(step, values[0])
        if steps and self._valid is not None:
            valid = self._values(self._valid, self._scores.scored, steps, [step.weights for step in steps])
            for step, values in zip(steps, valid, strict=True):
                step.valid.update(zip(self._measures, map(estimate_of, values), strict=True))
                self._keep(step, values[0])
        self._waiting = []

    def _keep(self, step: Step, deciding: Array) -> None:
        if len(step.selected) in self._kept_sizes:
            self._kept[step] = self._file.seek(0, SEEK_END), deciding.nbytes
            self._file.write(deciding.tobytes())

    def values_of(self, step: Step) -> Array:
        """What decides, for each held-out query, of a step with one of the sizes to be kept."""
        place, n_bytes = self._kept[step]
        self._file.seek(place)
        return np.frombuffer(self._file.read(n_bytes))

    def close(self) -> None:
        """Forget what was kept."""
        self._file.close()

    def _values(self, engine: Engine, scored: _Scored, steps: list[Step], weights: list[Any]) -> Array:
        """The measures of each query by the model of each step: step × measure × query. A few columns are no pass."""
        columns = [np.array(step.selected, np.intp) for step in steps]
        sent = (scored, columns, weights, self._measures, self._convention)
        values: Array = engine.per_query(_measured, *sent, reads=False)
        return np.ascontiguousarray(np.moveaxis(values, 0, -1))


def _measured(
    part: Part,
    scored: _Scored,
    columns: list[Columns],
    weights: list[Any],
    measures: tuple[Measure, ...],
    convention: Convention,
) -> Array:
    """The measures of a part's queries by each of some models: query × model × measure."""

    def of_model(model: tuple[Columns, Any]) -> Array:
        scores, judgments = scored(part, *model)
        found = measure_values(scores, judgments, measures, convention)
        return np.stack([found[measure] for measure in measures], axis=1)

    return np.stack(list(part.in_order(of_model, zip(columns, weights, strict=True))), axis=1)
