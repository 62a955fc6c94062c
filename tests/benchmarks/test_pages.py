"""Tables of benchmarks in pages of the documentation."""

import pytest

from benchmarks.pages import markdown, written


def test_tables_go_where_the_page_has_their_names():
    page = "before\n<!-- table: a -->\nold\n<!-- end -->\nbetween\n<!-- table: b -->\n<!-- end -->\nafter\n"
    once = written(page, {"a": "| \\1 |"})
    assert once == page.replace("\nold\n", "\n\n| \\1 |\n\n")
    assert "old" not in once
    assert written(once, {"a": "| \\1 |"}) == once
    with pytest.raises(ValueError, match="no <!-- table: c -->"):
        written(page, {"c": ""})


def test_a_table_has_a_line_for_each_row():
    assert markdown(("", "x"), [("a", "1"), ("b", "2")]) == "|  | x |\n| --- | --- |\n| a | 1 |\n| b | 2 |"
