"""The bars that tests keep: names that can be read at a glance, and support that can be found."""

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
LONGEST_NAME: Final = 60
_PAGE: Final = ROOT / "tests/support/README.md"


def _names_of_tests() -> list[str]:
    trees = [ast.parse(file.read_text()) for file in (ROOT / "tests").rglob("test_*.py")]
    functions = (
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [each.name for each in functions if each.name.startswith("test_")]


def test_names_of_tests_are_short() -> None:
    names = _names_of_tests()
    assert len(names) > 5_000
    assert [name for name in names if len(name) > LONGEST_NAME] == []


def test_the_page_of_support_lists_its_modules() -> None:
    page = _PAGE.read_text()
    listed = re.findall(r"^\| `(\w+\.py)` \|", page, re.MULTILINE)
    modules = {file.name for file in _PAGE.parent.glob("*.py")} - {"__init__.py"}
    assert sorted(listed) == sorted(modules)


def test_the_page_of_support_lists_its_fixtures() -> None:
    page = _PAGE.read_text()
    rows = re.findall(r"^\| `(\w+\.py)` \|.*\| ([^|]*) \|$", page, re.MULTILINE)
    for name, cell in rows:
        functions = [
            node
            for node in ast.parse((_PAGE.parent / name).read_text()).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        fixtures = {
            each.name
            for each in functions
            if any("fixture" in ast.unparse(mark) for mark in each.decorator_list)
        }
        public = {each for each in fixtures if not each.startswith("_")}
        assert set(re.findall(r"`(\w+)`", cell)) == public, name
