"""`content_of`: what a model computes, in the form that targets are written from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankwright.export.content import Content, linear_content, stumps_content
from rankwright.export.kernels import kernels_content
from rankwright.export.trees import trees_content
from rankwright.models.model import Model
from rankwright.models.model_of import model_of, not_wanted

_WANTED = "model must be a fitted ranker that has a formula, stumps, trees or a kernel, or what load_model reads"

# What a model is asked for, and who makes a content of the answer. The first that it has is its form.
_FORMS: tuple[tuple[Callable[[Model], Any], Callable[..., Content]], ...] = (
    (lambda model: model.formula(), linear_content),
    (lambda model: model.stumps(), stumps_content),
    (lambda model: model.kernel_sum(), kernels_content),
    (lambda model: model.trees(), trees_content),
)


def content_of(ranker: Any, scaler: Any, names: Mapping[str, str] | None) -> Content:
    """What a model computes, checked: all numbers are finite, and some feature counts."""
    model = model_of(ranker, scaler, _WANTED)
    for asked, content in _FORMS:
        learned = asked(model)
        if learned is not None:
            return content(model, learned, names)
    raise not_wanted(_WANTED, model)
