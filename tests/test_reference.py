"""The reference lists every public name, and every page can be found from the home page and the menu."""

import ast
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MODULES = [
    "rankwright",
    "rankwright.datasets",
    "rankwright.losses",
    "rankwright.theory",
    "rankwright.theory.consistency",
    "rankwright.dask",
    "rankwright.spark",
    "rankwright.lightgbm",
    "rankwright.xgboost",
    "rankwright.torch",
]
OF_EXTRAS = {"rankwright.dask", "rankwright.spark", "rankwright.torch"}


def names_listed() -> Counter[str]:
    """What the pages of the reference ask docstrings of."""
    pages = (page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    return Counter(name for page in pages for name in re.findall(r"^::: (\S+)$", page, re.MULTILINE))


def public_names(module_name: str) -> set[str]:
    """All that a module lists in __all__, but for modules and the version."""
    if module_name in OF_EXTRAS:
        return {f"{module_name}.{name}" for name in names_in_source(module_name)}
    module = import_module(module_name)
    names = (name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType))
    return {f"{module_name}.{name}" for name in names if name != "__version__"}


def names_in_source(module_name: str) -> list[str]:
    """The same without importing what may not be installed."""
    source = (ROOT / "src" / module_name.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^__all__ = (\[.*?\])$", source, re.MULTILINE | re.DOTALL)
    return ast.literal_eval(listed)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    missing = public_names(module) - set(names_listed())
    assert not missing, f"the pages in docs/reference lack {', '.join(sorted(missing))}"


def test_names_that_are_loaded_late_are_known_to_readers_of_the_source():
    """`make docs` and type checkers do not run the library."""
    source = ast.parse((ROOT / "src" / "rankwright" / "__init__.py").read_text(encoding="utf-8"))
    (for_readers,) = (node for node in source.body if isinstance(node, ast.If))
    imported = {name.name for node in ast.walk(for_readers) if isinstance(node, ast.ImportFrom) for name in node.names}
    assert set(import_module("rankwright").__all__) - {"__version__"} <= imported


def test_the_reference_lists_nothing_else_and_nothing_twice():
    everything = set().union(*map(public_names, MODULES))
    assert set(names_listed()) <= everything
    assert {name for name, times in names_listed().items() if times > 1} == set()


@pytest.mark.parametrize("page", sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")))
def test_every_page_is_in_the_menu_and_on_the_home_page(page):
    assert re.search(rf": {re.escape(page)}$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert page == "index.md" or re.search(rf"\({re.escape(page)}[)#]", (DOCS / "index.md").read_text(encoding="utf-8"))
