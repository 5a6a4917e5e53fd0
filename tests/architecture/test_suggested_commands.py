"""Commands of this program that a text suggests: a name in them is quoted for a shell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "gateway"
COMMAND = "realmgate "
QUOTES = {"quote", "join", "_command"}


def unquoted(text: ast.JoinedStr) -> Iterator[str]:
    """Yield the values that follow a command in a text, and are not quoted."""
    named = False
    for part in text.values:
        if isinstance(part, ast.Constant):
            named = named or COMMAND in str(part.value)
        elif named and isinstance(part, ast.FormattedValue) and not _is_quoted(part.value):
            yield ast.unparse(part.value)


def _is_quoted(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    function = value.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in QUOTES


def test_names_in_suggested_commands_are_quoted() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {value}"
        for file in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.JoinedStr)
        for value in unquoted(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('f"realmgate role create {name}"', ["name"]),
        ('f"{name}: realmgate role create {shlex.quote(name)}"', []),
    ],
)
def test_the_check_finds_a_name_without_quotes(source: str, expected: list[str]) -> None:
    (text,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)]
    assert [*unquoted(text)] == expected
