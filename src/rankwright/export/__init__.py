"""Trained models in the forms that search engines, databases and runtimes take."""

from rankwright.export.content import Content, Linear, Stumps
from rankwright.export.exporting import TARGETS, Target, export_model
from rankwright.export.trees import Trees

__all__ = ["TARGETS", "Content", "Linear", "Stumps", "Target", "Trees", "export_model"]
