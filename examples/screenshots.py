"""Pictures of a report for the gallery: python examples/screenshots.py demo-output/ranker/report.html docs/images

Each picture shows some sections of the page, in light or dark colours, on a desk or on a phone. It takes Chromium,
whose program CHROMIUM names (`chromium` by default).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
_SECTION = re.compile(r'<section id="([\w-]+)".*?</section>', re.DOTALL)
_DESK, _PHONE = 1000, 390


class Picture(NamedTuple):
    """Some sections of the page, and how much room they take."""

    name: str
    sections: tuple[str, ...]
    height: int
    is_dark: bool = False
    width: int = _DESK


PICTURES = (
    Picture("report_light", ("summary", "leaderboard"), 1800),
    Picture("report_dark", ("leaderboard",), 1190, is_dark=True),
    Picture("report_phone", ("leaderboard",), 1380, width=_PHONE),
    Picture("report_queries", ("queries",), 1290),
    Picture("report_worst", ("worst",), 930, is_dark=True),
    Picture("report_changed", ("improved", "harmed"), 1310),
    Picture("report_training", ("features", "regularisation"), 1720),
)


def main(report: Path, folder: Path) -> None:
    """Take all pictures."""
    page = report.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        for picture in PICTURES:
            shown = Path(temporary) / f"{picture.name}.html"
            shown.write_text(only(page, picture.sections), encoding="utf-8")
            if picture.width == _PHONE:
                shown = framed(shown, picture)
            take(shown, folder / f"{picture.name}.png", picture, Path(temporary) / "profile")


def only(page: str, sections: tuple[str, ...]) -> str:
    """The page without its other sections."""
    return _SECTION.sub(lambda found: found[0] if found[1] in sections else "", page)


def framed(page: Path, picture: Picture) -> Path:
    """The page in a frame, for a window of Chromium is never as narrow as a phone."""
    outer = page.with_suffix(".frame.html")
    size = f'width="{picture.width}" height="{picture.height}"'
    style = "<style>body { margin: 0 } iframe { border: 0; display: block }</style>"
    outer.write_text(f'<!DOCTYPE html>{style}<iframe src="{page.name}" {size}></iframe>', encoding="utf-8")
    return outer


def take(page: Path, picture_file: Path, picture: Picture, profile: Path) -> None:
    """Have Chromium draw a page."""
    command = [
        os.environ.get("CHROMIUM", "chromium"),
        *_FLAGS,
        f"--user-data-dir={profile}",
        f"--window-size={picture.width},{picture.height}",
        f"--blink-settings=preferredColorScheme={0 if picture.is_dark else 1}",
        f"--screenshot={picture_file.resolve()}",
        page.resolve().as_uri(),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
