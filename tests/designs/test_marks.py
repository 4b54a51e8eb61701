"""How a test says which rows of the designs it proves."""

from __future__ import annotations

import ast
import importlib.util
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def check_designs():
    """The script that reads the marks."""
    spec = importlib.util.spec_from_file_location(
        "check_designs", ROOT / "scripts" / "check_designs.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("rows", [("004-99",), ("004-07", "chronicle"), ()])
def test_a_row_that_there_is_not_ends_the_collection(request, rows):
    """With its test's name, so that a slip of the pen proves nothing."""
    (conftest,) = (
        each
        for each in request.config.pluginmanager.get_plugins()
        if getattr(each, "__file__", None) == str(ROOT / "conftest.py")
    )
    assert conftest.wrong_rows(request.node) == ""

    request.node.add_marker(pytest.mark.design(*rows))

    assert request.node.name in conftest.wrong_rows(request.node)


def test_marks_are_read_without_running_a_test(check_designs):
    """Of functions, of classes and of what is in them; any other mark names no row."""
    source = """
@pytest.mark.long
@pytest.mark.design("001-02", "001-03")
def test_a(): ...

@pytest.mark.design("001-02")
class TestB:
    @pytest.mark.design("001-04")
    def test_c(self): ...

@pytest.mark.parametrize("design", ["001-05"])
def test_d(design): ...
"""
    found = defaultdict(list)
    check_designs.marks_below(ast.parse(source), "t.py", found)

    assert found == {
        "001-02": ["t.py::test_a", "t.py::TestB"],
        "001-03": ["t.py::test_a"],
        "001-04": ["t.py::TestB::test_c"],
    }


def test_each_row_works_or_differs_for_a_reason(check_designs, capsys):
    """None is open, and no test names a row that there is not; what is missing is named."""
    assert check_designs.main() == 0, capsys.readouterr().out
    rows = {row.number: row for row in check_designs.read_rows("chronicle")}
    assert rows["004-07"].promise.startswith("`add_entry`")
    assert "test_of_chronicle" in check_designs.said_of(rows["004-07"])
    assert check_designs.said_of(rows["004-34"]).startswith("differs: ")
    gone = rows["004-07"]._replace(number="004-99")
    assert check_designs.said_of(gone) == "**open**"
