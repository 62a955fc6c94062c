"""What an :class:`~rankwright.data.inspection.Inspection` says is worth a look, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwright.data.inspection import Inspection
    from rankwright.data.inspection_features import FeatureFindings
    from rankwright.data.inspection_missing import MissingValues

_MOST_NAMES = 6

Finding = tuple[str, int, str]


def findings_of(found: Inspection) -> list[Finding]:
    """What to look at, how many there are, and which, or why."""
    return [*_judgment_findings(found), *_feature_findings(found.features)]


def _judgment_findings(found: Inspection) -> Iterator[Finding]:
    """What to look at among queries and documents."""
    findings = [("queries of one document", found.one_document_queries, "nothing to rank")]
    if found.grades is not None:
        grades = found.grades
        findings += [
            ("queries with nothing relevant", grades.queries_without_relevant, "no grade above 0"),
            ("queries with only one grade", grades.queries_with_one_grade, "nothing to learn from"),
            ("fractional grades", grades.fractional, "some tools refuse or round them"),
            ("grades above 31", grades.above_31, "too large for gains of 2^grade"),
        ]
    findings.append(("repeated documents", found.duplicate_rows, "same query, same features"))
    if found.contradictory_rows is not None:
        findings.append(("contradictory judgments", found.contradictory_rows, "repeated with another grade"))
    return (finding for finding in findings if finding[1])


def _feature_findings(features: FeatureFindings) -> Iterator[Finding]:
    """What to look at among features, with the names of the first few."""
    findings: list[tuple[str, Sequence[str]]] = [
        ("constant features", features.constant),
        ("constant within every query", features.constant_within_queries),
        ("features with missing values", [f"{it.feature} ({share_text(it.share)})" for it in _most_missing(features)]),
        ("missing in every document", features.missing_throughout),
        (
            "missing in whole queries",
            [f"{it.feature} ({it.whole_queries:,})" for it in features.missing if it.whole_queries],
        ),
        (
            "missing is linked to the grade",
            [f"{it.feature} ({_grades(it)})" for it in features.missing if it.linked_to_grade],
        ),
        ("features with infinite values", [f"{it.feature} ({it.documents:,})" for it in features.infinite]),
        ("duplicate features", [f"{it.feature} = {it.of}" for it in features.duplicates]),
        ("features that leak the label", [f"{it.feature} ({it.direction})" for it in features.leaks]),
        ("features that number documents", [f"{it.feature} ({it.kind})" for it in features.identifiers]),
        ("extreme outliers", [f"{it.feature} ({it.low:.3g} to {it.high:.3g})" for it in features.outliers]),
    ]
    if features.absent:
        yield "unused feature numbers", features.absent, "no document has these features"
    yield from ((what, len(names), _listed(names)) for what, names in findings if names)


def _listed(names: Sequence[str]) -> str:
    told = ", ".join(names[:_MOST_NAMES])
    return told if len(names) <= _MOST_NAMES else f"{told} and {len(names) - _MOST_NAMES:,} more"


def _most_missing(features: FeatureFindings) -> list[MissingValues]:
    return sorted(features.missing, key=lambda it: -it.documents)


def _grades(it: MissingValues) -> str:
    return f"mean grade {it.grade_if_missing:.2f} without it, {it.grade_if_given:.2f} with it"


def share_text(share: float) -> str:
    """A share in percent; one that is above 0 is never shown as 0.

    >>> share_text(0.354), share_text(0.00002)
    ('35.4%', '<0.01%')
    """
    return f"{share:.1%}" if share >= 0.001 or share == 0 else f"{share:.2%}" if share >= 0.00005 else "<0.01%"
