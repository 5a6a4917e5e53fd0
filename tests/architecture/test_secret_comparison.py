"""Secrets are compared in constant time, in one place. Attacks D13."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECRET = "gateway/domain/secrets.py"
CLIENT_SECRETS = "gateway/protocol/client_authentication/method.py"
EQUALITY = (ast.Eq, ast.NotEq)


def parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def modules() -> Iterator[str]:
    for path in sorted((ROOT / "gateway").rglob("*.py")):
        yield str(path.relative_to(ROOT))


def called(node: ast.AST) -> Iterator[str]:
    """Yield the names of the methods that are called below a node."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            yield one.func.attr


def is_revealed(node: ast.AST) -> bool:
    """Return whether the node is the plain text of a secret."""
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return call and node.func.attr == "reveal"  # type: ignore[attr-defined] # checked before


def test_no_plain_secret_is_compared_with_an_operator() -> None:
    """attacks: D13."""
    found = [
        f"{module}:{node.lineno}"
        for module in modules()
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Compare)
        and any(isinstance(operator, EQUALITY) for operator in node.ops)
        and any(is_revealed(operand) for operand in (node.left, *node.comparators))
    ]
    assert not found, f"use Secret.matches: {found}"


def test_secrets_match_by_the_constant_time_comparison() -> None:
    (matches,) = (
        node
        for node in ast.walk(parsed(SECRET))
        if isinstance(node, ast.FunctionDef) and node.name == "matches"
    )
    assert "compare_digest" in called(matches)
    assert not [node for node in ast.walk(matches) if isinstance(node, ast.Compare)]


def test_a_client_secret_is_compared_by_its_own_method() -> None:
    (judge,) = (
        node
        for node in ast.walk(parsed(CLIENT_SECRETS))
        if isinstance(node, ast.FunctionDef) and node.name == "_secret_refusal"
    )
    assert "matches" in called(judge)
    compared = [node for node in ast.walk(judge) if isinstance(node, ast.Compare)]
    operators = {type(operator) for node in compared for operator in node.ops}
    assert operators <= {ast.Is, ast.IsNot}
