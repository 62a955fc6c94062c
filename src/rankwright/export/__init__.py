"""Trained models in the forms that search engines, databases and runtimes take."""

from rankwright.export.content import Content, Linear, Stumps
from rankwright.export.exporting import TARGETS, Target, export_model

__all__ = ["TARGETS", "Content", "Linear", "Stumps", "Target", "export_model"]
