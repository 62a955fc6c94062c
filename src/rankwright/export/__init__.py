"""Trained models in the forms that search engines, databases and runtimes take."""

from rankwright.export.content import Content, Linear, Stumps
from rankwright.export.exporting import TARGETS, Target, export_model
from rankwright.export.kernels import Kernels
from rankwright.export.maps import Mapped
from rankwright.export.networks import NetworkContent
from rankwright.export.terms import TermSum
from rankwright.export.trees import Trees

__all__ = [
    "TARGETS",
    "Content",
    "Kernels",
    "Linear",
    "Mapped",
    "NetworkContent",
    "Stumps",
    "Target",
    "TermSum",
    "Trees",
    "export_model",
]
