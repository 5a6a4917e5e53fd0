"""Use cases are built in bootstrap alone; http, commands and workers are handed finished ones."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RULES = (
    "gateway.accounts",
    "gateway.admin",
    "gateway.authentication",
    "gateway.forward_auth",
    "gateway.protocol",
)
CALLERS = ("gateway/http", "gateway/cli", "gateway/supervisor")


def _trees(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def _of_the_rules(tree: ast.Module) -> set[str]:
    """Return the names that a module imports from the rules."""
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(RULES)
        for alias in node.names
    }


def _called(tree: ast.Module) -> set[str]:
    return {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def test_only_bootstrap_builds_use_cases() -> None:
    built = {
        name
        for _, tree in _trees("gateway/bootstrap")
        for name in _of_the_rules(tree) & _called(tree)
    }
    assert {
        "ClientAdministration",
        "ClientAuthenticator",
        "NewPasswords",
        "UserAdministration",
    } <= built
    elsewhere = {
        f"{module}: {name}" for module, tree in _trees(*CALLERS) for name in _called(tree) & built
    }
    assert elsewhere == set()
