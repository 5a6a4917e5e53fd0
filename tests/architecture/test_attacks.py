"""Every attack on certificates, decisions, protocols, sign-ins, mails and logs has a test.

Source: docs/reference/attacks.md, sections A to E
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).resolve().parents[2]
_ROWS: Final = (
    *("A1", "A2", "A4", "A6", "A7", "A8", "A9", "A10", "A12", "A13", "A14", "A15", "A17", "A18"),
    *("A19", "A20", "A21", "A22"),
    *("B1", "B3", "B4", "B5", "B6", "B7", "B8"),
    *("C1", "C2", "C3", "C4", "C5", "C7", "C8", "C9", "C11", "C12", "C13", "C14", "C15", "C17"),
    *("C19", "C20", "C21", "C23", "C24"),
    *("D1", "D3", "D4", "D5", "D6", "D7", "D8", "D10", "D11", "D12", "D13", "D14"),
    *("E5", "E7", "E8"),
)
_CITATION: Final = re.compile(r"\b[Aa]ttacks?:? ((?:[A-F]\d{1,2}(?:, )?)+)")
_LIVE: Final = {"contract", "http", "spec", "system", "browser"}
"""Folders whose tests run the product with its real stores or servers."""


def _tests() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for file in sorted((_ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield file.relative_to(_ROOT / "tests"), node


def _rows_of(text: str) -> set[str]:
    """Return the rows that a docstring names."""
    found = _CITATION.findall(" ".join(text.split()))
    return {row for cited in found for row in cited.rstrip(", ").split(", ")}


@pytest.fixture(scope="module")
def tests_of() -> dict[str, set[Path]]:
    """Return the files of the tests that name each row."""
    found: dict[str, set[Path]] = defaultdict(set)
    for file, test in _tests():
        if test.name.startswith("test_"):
            for row in _rows_of(ast.get_docstring(test) or ""):
                found[row].add(file)
    return found


@pytest.mark.parametrize("row", _ROWS)
def test_an_attack_is_named_by_a_test_that_runs_the_product(
    row: str, tests_of: dict[str, set[Path]]
) -> None:
    assert {file.parts[0] for file in tests_of[row]} & _LIVE, row


@pytest.mark.parametrize("section", ["A", "B", "C", "D"])
def test_the_reference_has_no_attack_that_the_list_lacks(section: str) -> None:
    page = (_ROOT / "docs/reference/attacks.md").read_text(encoding="utf-8")
    rows = set(re.findall(rf"^\| ({section}\d+) \|", page, re.MULTILINE))
    assert rows == {row for row in _ROWS if row.startswith(section)}


@pytest.mark.parametrize(
    ("docstring", "rows"),
    [
        ("attacks: D1.", {"D1"}),
        ("CSRF, also of a stranger. attacks: D14, E8. More text.", {"D14", "E8"}),
        ("RFC 6238 §5.2; attacks: D7", {"D7"}),
        ("Nothing of D1 here.", set()),
    ],
)
def test_the_rows_of_a_docstring_are_found(docstring: str, rows: set[str]) -> None:
    assert _rows_of(docstring) == rows
