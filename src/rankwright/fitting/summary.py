"""A fit in words: the table of rankers, what was chosen and given up, and what the figures mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

from rankwright.evaluation.tables import interval, number, plain_table, probability, regularisation
from rankwright.fitting.family import FORMULA, LINEAR
from rankwright.html import Block, notebook_html
from rankwright.maps.terms import where_slog
from rankwright.selection.search import Estimate, estimate_of, is_as_good

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from rankwright.fitting.result import FitResult

_MARK = "▶"


class OptionNames(NamedTuple):
    """How options are written where the summary is read."""

    test: str
    rule_best: str


IN_PYTHON = OptionNames("test=…", 'rule="best"')
ON_COMMAND_LINE = OptionNames("--test", "--rule best")


class Row(NamedTuple):
    """A ranker in the table, best on held-out queries first; the baseline has no setting."""

    name: str
    held_out: float
    on_test: float | None
    from_baseline: float | None
    from_best: float | None
    p_value: float | None
    n_features: int
    alpha: float | None
    is_chosen: bool
    is_baseline: bool


def rows_of(result: FitResult) -> list[Row]:
    """The rankers and the baseline."""
    held_out, on_test = result.held_out, result.on_test
    entries = {entry.family.title: (entry, model) for entry, model in zip(result.entries, result.models, strict=True)}
    means, baseline = held_out.means, held_out.means[result.baseline_title]
    rows = []
    for name, mean in means.items():
        entry, model = entries.get(name, (None, None))
        rows.append(
            Row(
                name,
                mean,
                None if on_test is None else on_test.means[name],
                None if entry is None else mean - baseline,
                None if name == held_out.reference else mean - means[held_out.reference],
                held_out.p_values.get(name),
                1 if model is None else len(model.used_features()),
                None if entry is None else entry.setting.alpha,
                entry is result.entries[result.chosen],
                entry is None,
            )
        )
    return rows


@dataclass(frozen=True, eq=False)
class FitSummary:
    """What `FitResult` and the command print."""

    result: FitResult
    names: OptionNames = IN_PYTHON

    # The table

    def _title(self) -> str:
        result = self.result
        n_judged = len(result.held_out.query_ids)
        how = f"by cross-validation over {n_judged:,} queries"
        if result.data.valid is not None:
            how = f"on {n_judged:,} validation queries"
        tested = "" if result.test is None else f", and on {result.test.n_queries:,} test queries"
        return f"{result.measure} {how}{tested}"

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        has_test = self.result.test is not None
        header = ["  ranker", "held\nout", *(["test"] if has_test else []), "vs\nbaseline", "vs\nbest", "p"]
        rows = [
            [
                f"{_MARK if row.is_chosen else ' '} {self._name(row)}",
                number(row.held_out),
                *(["" if row.on_test is None else number(row.on_test)] if has_test else []),
                "" if row.from_baseline is None else f"{row.from_baseline:+.4f}",
                "best" if row.from_best is None else f"{row.from_best:+.4f}",
                "" if row.p_value is None else probability(row.p_value),
                f"{row.n_features:,}",
                "" if row.alpha is None else regularisation(row.alpha),
            ]
            for row in rows_of(self.result)
        ]
        return [*header, "features", "λ"], rows

    def _name(self, row: Row) -> str:
        return f"baseline {self.result.baseline.name}" if row.is_baseline else row.name

    def _table(self) -> Table:
        """The table for a terminal; where it is too narrow, names are cut, and no figure is."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        header, rows = self._cells()
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for position, name in enumerate(header):
            table.add_column(
                Text(name),
                justify="right" if position else "left",
                vertical="bottom",
                no_wrap=position > 0,  # so that Rich narrows no other column than that of names
            )
        for name, *figures in rows:
            name_cell = Text(name, no_wrap=True, overflow="ellipsis")
            table.add_row(name_cell, *map(Text, figures), style="bold" if name.startswith(_MARK) else "")
        return table

    # Below the table

    def _sentences(self) -> list[str]:
        result = self.result
        return [
            self._choice(),
            *([f"The formula: {formula}{where_slog(formula)}"] if (formula := result.formula_text) else []),
            *self._given_up(),
            *self._against_linear(),
            *self._preparation(),
            *self._simpler_preparation(),
            *([f"Nothing was learned: {result.nothing_learned}."] if result.nothing_learned else []),
            self._figure(),
            self._promise(),
            *result.notes,
            *(f"Left out: {each.family.title}, {each.reason}." for each in result.left_out),
        ]

    def _choice(self) -> str:
        entry, model = self.result.entries[self.result.chosen], self.result.model
        used = f"{len(model.used_features()):,} of {model.n_features_in_:,} features used"
        return f"{_MARK} Chosen: {entry.family.title}, {entry.setting.short}; {used}."

    def _given_up(self) -> list[str]:
        """What the rule gave up for a simpler ranker."""
        given_up = self.result.given_up
        if given_up is None:
            return []
        best = f"{given_up.best.family.title} with {given_up.best.setting.short}, the best of all"
        told = self._difference(given_up.difference)
        return [f"{self._savings()} of {best}; {told}. Use {self.names.rule_best} for the best."]

    def _difference(self, difference: Estimate) -> str:
        """How a simpler ranker than the best differs from it, and whether that is within one standard error."""
        measure, worse_by = self.result.measure, abs(difference.mean)
        if round(worse_by, 4) == 0:
            return f"{measure} on held-out queries is the same"
        way = "higher" if measure.lower_is_better else "lower"
        is_near = is_as_good(difference, measure.lower_is_better)
        near = "within one standard error" if is_near else f"standard error {difference.standard_error:.4f}"
        return f"{measure} on held-out queries is {worse_by:.4f} {way} ({near})"

    def _against_linear(self) -> list[str]:
        """How much better than the best linear ranker a choice that is not linear is."""
        result = self.result
        entry, linear = result.entries[result.chosen], result.best_linear
        if entry.family.complexity == LINEAR or linear is None:
            return []
        difference = estimate_of(entry.values - linear.values)
        better = -difference.mean if result.measure.lower_is_better else difference.mean
        error = f"standard error of the difference {difference.standard_error:.4f}"
        return [
            f"The best linear ranker, {linear.family.title}, is worse by {better:.4f} on held-out queries ({error}): "
            "more than one standard error, so a ranker that is not linear was chosen."
            if not is_as_good(estimate_of(linear.values - entry.values), result.measure.lower_is_better)
            else f"The best linear ranker, {linear.family.title}, differs by {-better:+.4f} on held-out queries "
            f"({error}): within one standard error."
        ]

    def _preparation(self) -> list[str]:
        """What was done to the features of a linear ranker, if that is more than scaling."""
        how, by = self.result.data.how, self.result.data.by
        if self.result.column_weights is None or (not by.transforms and by.filling is None):
            return []
        return [f"Features were prepared: {how}. This is part of the model."]

    def _simpler_preparation(self) -> list[str]:
        """What a simpler preparation of features than the best one costs."""
        given_up = self.result.preparation_given_up
        if self.result.column_weights is None or given_up is None:
            return []
        best, difference = given_up
        better = f"{abs(difference.mean):.4f} better (standard error {difference.standard_error:.4f})"
        return [
            f"RankRLS would be {better} on held-out queries with {best.how}. Use {self.names.rule_best} for the best."
        ]

    def _savings(self) -> str:
        given_up, result = self.result.given_up, self.result
        assert given_up is not None
        chosen = result.entries[result.chosen]
        if chosen.family.complexity < given_up.best.family.complexity:
            kind = {LINEAR: "A linear ranker", FORMULA: "A short formula"}[chosen.family.complexity]
            return f"{kind}, which is easier to run and to explain, instead"
        ours, theirs = result.n_features_of(result.entries[result.chosen]), result.n_features_of(given_up.best)
        told = f"{ours:,} feature{'s' * (ours != 1)} instead of the {theirs:,}"
        if not result.has_costs:
            return told
        return f"A cost of {result.entries[result.chosen].cost:.4g} instead of {given_up.best.cost:.4g}, and {told}"

    def _figure(self) -> str:
        """The chosen ranker on the final queries, with its interval."""
        result, name = self.result, self.result.entries[self.result.chosen].family.title
        final = result.held_out if result.on_test is None else result.on_test
        queries = "held-out" if result.on_test is None else "test"
        return (
            f"{result.measure} on {queries} queries: {number(final.means[name])}, "
            f"95 % interval {interval(final.intervals[name])}."
        )

    def _promise(self) -> str:
        result = self.result
        if result.certificates is None:
            return f"{result.measure} of new queries cannot be certified: it has no greatest value that is known."
        certificate, is_error = result.certificates[0], result.measure.lower_is_better
        bound = certificate.bound
        side = f"at most {ceil(1e4 * bound) / 1e4:.4f}" if is_error else f"at least {floor(1e4 * bound) / 1e4:.4f}"
        told = f"{result.measure} of new queries: {side} with probability {1 - result.delta:g}."
        if result.test is None:
            return (
                f"{told} Estimate only: these queries were also used to choose the model. "
                f"Pass {self.names.test} for a guarantee."
            )
        return f"{told} Estimate only: {'; '.join(certificate.doubts)}." if certificate.doubts else told

    def _meanings(self) -> list[tuple[str, str]]:
        """Each word of the trade in a line."""
        result = self.result
        held_out = "cross-validation" if result.data.valid is None else "the validation queries"
        meanings = [
            ("held out", f"queries not trained on ({held_out}); differences and p are for these."),
            ("baseline", f"ranking by the single feature {result.baseline.name}, without learning."),
            (
                "p",
                "probability of a difference from the best at least this large by chance (Wilcoxon test, "
                f"corrected for several comparisons by Holm's method).{self._doubt_of_p()}",
            ),
            ("λ", "how strongly weights are kept small (regularisation; rankers call it alpha)."),
            ("95 % interval", "how much the result depends on which queries were sampled (bootstrap)."),
        ]
        if result.certificates is not None and result.certificates[0].guaranteed:
            side = "at most" if result.measure.lower_is_better else "at least"
            meanings.append((side, "a certificate: a guarantee for queries drawn as the test queries were."))
        return meanings

    def _doubt_of_p(self) -> str:
        """Many settings of rankers that are not linear were drawn, and the best of them taken."""
        return " These queries also chose the settings, so p is too small." if self.result.has_nonlinear else ""

    def __str__(self) -> str:
        header, rows = self._cells()
        table = plain_table([name.replace("\n", " ") for name in header], rows, title=self._title())
        meanings = [f"{word}: {meaning}" for word, meaning in self._meanings()]
        return "\n".join([table, "", *self._sentences(), "", *meanings])

    def html(self) -> str:
        """The same for notebooks."""
        header, rows = self._cells()
        meanings = [f"{word}: {meaning}" for word, meaning in self._meanings()]
        names = [name.replace("\n", " ") for name in header]
        return notebook_html(Block(self._title(), names, rows, (0,), [*self._sentences(), *meanings]))

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        meanings = Table.grid(padding=(0, 2, 0, 0))
        for word, meaning in self._meanings():
            meanings.add_row(Text(word, style="dim"), Text(meaning, style="dim"))
        title = Text(f"{self._title()}\n", style="dim")
        return Group(title, self._table(), Text(""), *map(Text, self._sentences()), Text(""), meanings)


def gave_up_json(result: FitResult) -> dict[str, object] | None:
    """What the rule gave up, for machines."""
    given_up = result.given_up
    if given_up is None:
        return None
    best = given_up.best
    return {
        "ranker": best.family.title,
        "setting": str(best.setting),
        "alpha": best.setting.alpha,
        "features": result.n_features_of(best),
        "cost": best.cost if result.has_costs else None,
        "held_out_mean": best.estimate.mean,
        "difference": given_up.difference.mean,
        "standard_error": given_up.difference.standard_error,
    }


def notes_on_grids(result: FitResult) -> Sequence[str]:
    """Of which rankers the best λ is at an end of what was tried."""
    notes = []
    for judged in result.judged:
        end = judged.end_of_grid(result.measure)
        if end is None:
            continue
        alphas = [setting.alpha for setting in judged.settings if setting.alpha is not None]
        alpha = regularisation(min(alphas) if end == "least" else max(alphas))
        why = " More were not tried, as time was out." if judged.ended_for_time else ""
        title, extreme = judged.family.title, "smallest" if end == "least" else "largest"
        notes.append(f"The best λ for {title}, {alpha}, is the {extreme} that was tried.{why}")
    return notes


def note_on_search(result: FitResult) -> list[str]:
    """How many settings of non-linear rankers were drawn, and whether more time would draw more."""
    searched = [judged for judged in result.judged if judged.family.complexity != LINEAR]
    if not searched:
        return []
    counts = ", ".join(f"{len(judged.settings)} of {judged.family.title}" for judged in searched)
    more = " Time was out: a larger budget tries more." if any(judged.ended_for_time for judged in searched) else ""
    return [f"Settings tried, drawn at random: {counts}.{more}"]
