"""Whatever accepts a token requires what the token is bound to. RFC 8705 §3, RFC 9449 §7."""

import ast
from pathlib import Path
from typing import Final

import pytest

_ROOT: Final = Path(__file__).resolve().parents[2]
_READERS: Final = frozenset(
    {"AccessTokens", "ActiveToken", "read_refresh_token", "verify_refresh_token"}
)
"""What makes claims of a token that somebody has sent."""
_RULE: Final = frozenset(
    {"require", "require_of_parameter", "require_of_refreshed", "require_of_exchanged"}
)
_MAKERS: Final = (
    "gateway/bootstrap/",
    "gateway/protocol/session_tokens.py",
    "gateway/protocol/tokens/",
)
"""They build, pass on and define the readers, and accept nothing."""
_ACCEPTORS: Final = frozenset(
    {
        "gateway/accounts/access.py",
        "gateway/forward_auth/bearer_tokens.py",
        "gateway/http/admin/authentication.py",
        "gateway/protocol/grants/refresh_token.py",
        "gateway/protocol/grants/token_exchange.py",
        "gateway/protocol/introspection.py",
        "gateway/protocol/logout.py",
        "gateway/http/registration_requests.py",
        "gateway/protocol/revocation.py",
        "gateway/protocol/userinfo.py",
    }
)


def _modules() -> list[str]:
    files = sorted((_ROOT / "gateway").rglob("*.py"))
    names = [str(file.relative_to(_ROOT)) for file in files]
    return [name for name in names if not name.startswith(_MAKERS)]


def _reads_tokens(code: ast.Module) -> bool:
    return any(
        alias.name in _READERS
        for node in ast.walk(code)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def _requires_binding(code: ast.Module) -> bool:
    """Tell whether the rule is called on something with `constraint` in its name."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _RULE
        and "constraint" in ast.unparse(node.func.value)
        for node in ast.walk(code)
    )


def test_everything_that_reads_tokens_is_known() -> None:
    found = {name for name in _modules() if _reads_tokens(_parsed(name))}
    assert found == _ACCEPTORS


@pytest.mark.parametrize("module", sorted(_ACCEPTORS))
def test_an_acceptor_of_tokens_calls_the_rule(module: str) -> None:
    assert _requires_binding(_parsed(module))


def _parsed(module: str) -> ast.Module:
    return ast.parse((_ROOT / module).read_text(encoding="utf-8"))
