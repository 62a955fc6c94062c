"""The kinds of models that files hold."""

from __future__ import annotations

from rankwright.models.kernel_model import KernelModel
from rankwright.models.linear_model import LinearModel
from rankwright.models.mapped_model import MappedModel
from rankwright.models.model import Model
from rankwright.models.network_model import NetworkModel
from rankwright.models.stump_model import StumpModel
from rankwright.models.terms_model import TermsModel
from rankwright.models.tree_model import TreeModel

# By the field that tells them: a file is of the first kind whose field it has.
KINDS: dict[str, type[Model]] = {
    "layers": NetworkModel,
    "map": MappedModel,
    "stumps": StumpModel,
    "kernel": KernelModel,
    "trees": TreeModel,
    "terms": TermsModel,
    "weights": LinearModel,
}
