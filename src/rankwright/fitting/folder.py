"""The folder of a finished fit: model, leaderboard and report, written all or none, and never over another fit."""

from __future__ import annotations

import csv
import io
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright._version import __version__
from rankwright.data.inspection import inspect
from rankwright.data.paths import atomic_path
from rankwright.errors import ParseError
from rankwright.evaluation.tables import regularisation
from rankwright.fitting.family import AnySetting
from rankwright.fitting.report_data import report_data
from rankwright.models.model import Model
from rankwright.models.model_file import load_model, model_text
from rankwright.models.training_record import training_record
from rankwright.report.page import render_report
from rankwright.text import spreadsheet_cell

if TYPE_CHECKING:
    from rankwright.fitting.result import FitResult

MODEL, LEADERBOARD, REPORT = FILES = ("model.json", "leaderboard.csv", "report.html")

_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
_FIGURES = ("mean", "low", "high", "standard_error")


class AnotherFit(FileExistsError):
    """A folder holds the model of another fit, or of something else, which is not to be lost unasked."""

    def __init__(self, folder: Path, content: str) -> None:
        super().__init__(f"{folder} {content}. Save to another folder, or replace it with overwrite=True.")
        self.content = content


@dataclass(frozen=True)
class Origin:
    """Where a fit came from: what ran (a command, or a call), and what to remember of its data."""

    command: str | None
    data: Sequence[Mapping[str, Any]]


def save_fit(
    result: FitResult, folder: str | os.PathLike[str], origin: Origin, *, overwrite: bool = False
) -> dict[str, Any]:
    """Write the files of a fit, all or none, and give what the report tells.

    The folder is made if need be. The model takes its name last, so that it is never without its report.
    """
    target = Path(folder)
    check_not_another(target, result.fingerprint, overwrite=overwrite)
    in_the_way = next((target / name for name in FILES if (target / name).is_dir()), None)
    if in_the_way is not None:
        raise IsADirectoryError(f"{in_the_way} is a folder: give another one to save to")
    report = _report(result, origin)
    contents = {
        MODEL: model_text(result.model, training=_record(result, report, origin)),
        REPORT: render_report(report),
        LEADERBOARD: leaderboard_csv(report["leaderboard"]),
    }
    with _made(target), ExitStack() as files:  # which is left in reverse order
        for name, content in contents.items():
            temporary = files.enter_context(atomic_path(target / name))
            temporary.write_text(content, encoding="utf-8", newline="")
    return report


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """The folder, made if it is not there; if nothing can be written, it goes again."""
    is_new = not folder.is_dir()
    if is_new:
        folder.mkdir()
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):
                folder.rmdir()  # which is refused where anything was written


# Whose results are there


def check_not_another(folder: Path, fingerprint: str, *, overwrite: bool = False) -> None:
    """Refuse a folder whose model is not of the fit with this fingerprint, unless it may be replaced."""
    path = folder / MODEL
    if overwrite or not path.is_file():
        return
    try:
        model = load_model(path)
    except (OSError, ParseError):
        raise AnotherFit(folder, f"holds a {MODEL} that is no model file of Rankwright") from None
    known = model.training_.get("fingerprint")
    if not isinstance(known, str) or not _FINGERPRINT.fullmatch(known):
        raise AnotherFit(folder, f"holds a model that no fit is known to have made ({_described(model, path)})")
    if known != fingerprint:
        raise AnotherFit(folder, f"holds another fit ({_described(model, path)})")


def _described(model: Model, path: Path) -> str:
    """A model in a few words: the ranker, its data and measure as far as the file tells them, and its date."""
    training = model.training_
    names = [part["name"] for part in _mappings(training.get("data")) if isinstance(part.get("name"), str)]
    measures = [each["measure"] for each in _mappings(training.get("measures")) if isinstance(each.get("measure"), str)]
    written = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    told = [
        model.ranker_ + (f" for {measures[0]}" if measures else ""),
        *([f"trained on {names[0]}"] if names else []),
        f"written {written:%Y-%m-%d %H:%M}",
    ]
    return ", ".join(told)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """Those of a list that are objects; nothing of anything else, as a model file may say what it likes."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


# What is written


def _report(result: FitResult, origin: Origin) -> dict[str, Any]:
    reproduce = {
        "command": origin.command,
        "versions": _versions(),
        "data": list(origin.data),
        "seed": result.data.seed,
    }
    inspection = inspect(result.request.queries["train"])
    return report_data(result, inspection, reproduce=reproduce)


def _versions() -> dict[str, str]:
    packages = {name: version(name) for name in _PACKAGES}
    return {"rankwright": __version__, "python": platform.python_version(), **packages}


def _record(result: FitResult, report: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    """What the model file says of its training."""
    entry, estimate = result.entries[result.chosen], result.entries[result.chosen].estimate
    judged = result.judged[result.chosen]
    return training_record(
        command=origin.command,
        data=origin.data,
        convention=result.convention.name,
        rule=result.rule,
        judged_on="held-out" if result.data.valid is None else "valid",
        measures=[
            {"measure": str(result.measure), "mean": estimate.mean, "standard_error": estimate.standard_error},
        ],
        figures={
            **_told_of_setting(entry.setting, judged.settings),
            "features_used": len(result.model.used_features()),
            "rankers_tried": len(result.entries),
        },
        certificate=report["summary"]["certificate"] if result.test is not None else None,
        fingerprint=result.fingerprint,
    )


def _told_of_setting(chosen: AnySetting, tried: Sequence[AnySetting]) -> dict[str, Any]:
    if chosen.alpha is None:
        return {"setting": chosen.told, "settings_tried": len(tried)}
    return {"alpha": chosen.alpha, "alphas_tried": len({setting.alpha for setting in tried})}


def leaderboard_csv(leaderboard: Sequence[Mapping[str, Any]]) -> str:
    """A line for each ranker, best first."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    held_out, on_test = ([f"{part}_{name}" for name in _FIGURES] for part in ("held_out", "test"))
    differences = ["difference_from_baseline", "difference_from_best"]
    about = ["ranker", "chosen", "setting", "lambda", "features"]
    table.writerow([*about, *held_out, *differences, "p_value", *on_test])
    for row in leaderboard:
        alpha = "" if row["alpha"] is None else regularisation(row["alpha"])
        told = (row["ranker"], "yes" if row["is_chosen"] else "", row["setting"], alpha, row["features"])
        compared = [row[name] for name in (*differences, "p_value")]
        table.writerow([*map(spreadsheet_cell, told), *_flat(row["held_out"]), *compared, *_flat(row["test"])])
    return text.getvalue()


def _flat(figures: Mapping[str, Any] | None) -> list[Any]:
    if figures is None:
        return [""] * len(_FIGURES)
    return [figures["mean"], *figures["interval"], figures["standard_error"]]
