"""A loss as it is sent to the parts of the data, where it meets their judgments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from rankwright.data.part import Part
from rankwright.losses.loss import Loss, QueryLosses
from rankwright.losses.pairwise import MarginLosses
from rankwright.losses.phi import Phi, phi_of
from rankwright.types import Array

_numbers = count()


@dataclass(frozen=True, eq=False)
class SentLoss:
    """A loss, and how much each query of the whole data counts, if not all the same.

    ``phi`` takes the place of the loss's own φ.
    """

    loss: Loss
    query_weights: Array | None = None
    phi: Phi | None = None
    number: int = field(default_factory=lambda: next(_numbers))

    def with_phi(self, phi: Phi) -> SentLoss:
        """The same pairs and weights with another φ: what parts know of the pairs serves for all of them."""
        return replace(self, phi=phi)

    @property
    def is_smooth(self) -> bool:
        """Whether it has a gradient everywhere."""
        return self.loss.is_smooth if self.phi is None else self.phi.is_smooth

    @property
    def is_convex(self) -> bool:
        """Whether a least value that was found is the least there is."""
        return self.loss.is_convex

    @property
    def phi_name(self) -> str | None:
        """What its φ is called, if it has one."""
        phi = self.phi if self.phi is not None else getattr(self.loss, "phi", None)
        return None if phi is None else phi_of(phi).name

    def on(self, part: Part) -> QueryLosses:
        """The loss on the queries of a part."""
        losses = part.kept(("loss", self.number), lambda: self.loss.on(part.judgments, self._weights_of(part)))
        if self.phi is None:
            return losses
        assert isinstance(losses, MarginLosses)
        return losses.with_phi(self.phi)

    def _weights_of(self, part: Part) -> Array | None:
        weights = self.query_weights
        return None if weights is None else weights[part.first_query : part.first_query + part.n_queries]
