"""Tables that benchmarks put into pages of the documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def written(page: str, found: dict[str, str]) -> str:
    """A page with tables where it has ``<!-- table: NAME -->`` … ``<!-- end -->``."""
    for name, content in found.items():
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(page):
            raise ValueError(f"the page has no {begin}")
        page = pattern.sub(lambda _, text=f"{begin}\n\n{content}\n\n{end}": text, page)  # type: ignore[misc]
    return page
