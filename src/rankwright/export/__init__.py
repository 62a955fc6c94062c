"""Trained models in the forms that search engines, databases and runtimes take."""

from rankwright.export.exporting import TARGETS, export_model

__all__ = ["TARGETS", "export_model"]
