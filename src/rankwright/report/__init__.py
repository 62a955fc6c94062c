"""Results as documents that stand alone: charts, and pages with all there is to know about a ranker."""

from rankwright.report.chart import line_chart
from rankwright.report.page import render_report

__all__ = ["line_chart", "render_report"]
