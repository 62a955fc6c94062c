"""Results as documents that stand alone: charts."""

from rankwright.report.chart import line_chart

__all__ = ["line_chart"]
