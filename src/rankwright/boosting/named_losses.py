"""Losses by name, for boosting: ours, and those that come with a library of trees."""

from __future__ import annotations

from typing import Literal

from rankwright.checks import check_choice
from rankwright.errors import ParameterError
from rankwright.losses.loss import Loss
from rankwright.losses.named import LOSSES, loss_of

Library = Literal["lightgbm", "xgboost"]
LIBRARIES = ("lightgbm", "xgboost")

# What the libraries call their own losses, by the names that users know.
LIBRARY_LOSSES: dict[str, tuple[Library, str]] = {
    "lambdarank": ("lightgbm", "lambdarank"),
    "xendcg": ("lightgbm", "rank_xendcg"),
    "rank:ndcg": ("xgboost", "rank:ndcg"),
}


def own_loss(given: str | Loss) -> Loss:
    """A loss of ours, by name or as it is."""
    if isinstance(given, str) and given in LIBRARY_LOSSES:
        library, name = LIBRARY_LOSSES[given]
        raise ParameterError(f"loss {given!r} is {library}'s own: give {library} the objective {name!r} itself")
    return loss_of(given)


def loss_in(given: str | Loss, library: Library) -> Loss | str:
    """A loss of ours, or the name that the library has for one of its own."""
    if not isinstance(given, str) or given not in LIBRARY_LOSSES:
        if not isinstance(given, Loss):
            check_choice("loss", given, (*LOSSES, *LIBRARY_LOSSES), or_else="an object of rankwright.losses")
        return loss_of(given)
    of_library, name = LIBRARY_LOSSES[given]
    if of_library != library:
        raise ParameterError(f"loss {given!r} is {of_library}'s: set library={of_library!r}, or choose another loss")
    return name
