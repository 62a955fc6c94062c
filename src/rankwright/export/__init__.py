"""Trained models in the forms that search engines, databases and runtimes take."""

from rankwright.export.content import Linear, Stumps
from rankwright.export.exporting import TARGETS, Target, export_model

__all__ = ["TARGETS", "Linear", "Stumps", "Target", "export_model"]
