"""The paths of greedy selection for some λ, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rankwright.checks import check_whole, is_number
from rankwright.errors import ParameterError
from rankwright.progress import Progress, Tell
from rankwright.selection.forward import SearchPlan, search_features
from rankwright.selection.path import SelectionPath
from rankwright.selection.recorder import Recorder
from rankwright.selection.search import Search
from rankwright.selection.selectors import Selector


def greedy_paths(
    selector: Selector,
    plan: SearchPlan,
    alphas: Iterable[float],
    recorder: Recorder,
    names: Sequence[str],
    *,
    seed: int | None = None,
    progress: Tell | None = None,
    what: str = "feature",
) -> list[SelectionPath]:
    """Search for each λ as the plan says; ``what`` is selected, under these names."""
    values = [float(alpha) for alpha in alphas]
    paths = []
    for position, alpha in enumerate(values):
        tell = _counting(progress, what, position, len(values), plan.n_features)
        selector.start(alpha)
        for action, feature, rating in search_features(selector, plan, np.random.default_rng(seed)):
            recorder.note(selector, plan, action, feature, rating)
            tell(selector.selected.size)
        paths.append(SelectionPath(alpha, recorder.steps(), tuple(names)))
    return paths


def _counting(progress: Tell | None, what: str, position: int, n_alphas: int, most: int) -> Callable[[int], None]:
    """Tells how many are selected for the λ at this position: all take as many."""
    if progress is None:
        return lambda size: None
    return lambda size: progress(Progress(f"{what} {size} of {most}", position * most + size, n_alphas * most))


def checked_sizes(parameter: str, wanted: Any, most: int, what: str, default: Iterable[int]) -> frozenset[int]:
    """How many may be selected: one number, those of a search, or of `search()` the default."""
    values = (default if wanted.values is None else wanted.values) if isinstance(wanted, Search) else [wanted]
    values = list(values)
    for value in values:
        whole = int(value) if is_number(value) and np.isfinite(value) and value == np.floor(value) else value
        check_whole(parameter, whole, 1, or_else="search(…)")  # 3.0 will do, as a search holds floats
        if value > most:
            raise ParameterError(f"{parameter} is {value:g}, but there are only {most} {what}s")
    return frozenset(int(value) for value in values)
