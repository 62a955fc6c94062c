"""The kinds of models that files hold."""

from __future__ import annotations

from rankwright.models.linear_model import LinearModel
from rankwright.models.model import Model
from rankwright.models.stump_model import StumpModel
from rankwright.models.terms_model import TermsModel

# By the field that tells them: a file is of the first kind whose field it has.
KINDS: dict[str, type[Model]] = {
    "stumps": StumpModel,
    "terms": TermsModel,
    "weights": LinearModel,
}
