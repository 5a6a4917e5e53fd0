"""Every cache is bounded in bytes: no other kind than that of `gateway/domain/limits/caches.py`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "gateway").rglob("*.py"))
UNBOUNDED_IN_BYTES = {
    "lru_cache",
    "cache",
    "cached_property",
    "OrderedDict",
    "WeakKeyDictionary",
    "WeakValueDictionary",
}
ALLOWED = {
    (
        "gateway/supervisor/server/whole_requests.py",
        "lru_cache",
    ): "512 names of headers, 64 bytes each; the date of one second",
    ("gateway/http/edge.py", "lru_cache"): "4,096 addresses, 64 characters each",
    ("gateway/forward_auth/identity_headers.py", "lru_cache"): "2,048 names, 64 bytes each",
    ("gateway/observability/logging.py", "lru_cache"): "1,024 names, 64 characters each",
    ("gateway/doctor/nginx_scopes.py", "cached_property"): "one configuration in a command",
    ("gateway/storage/sql/database.py", "cached_property"): "the repositories of one transaction",
    ("gateway/storage/sql/database.py", "cache"): "the classes of repositories",
    ("gateway/bootstrap/services.py", "cached_property"): "the services of one process",
    ("gateway/bootstrap/services.py", "cache"): "one value of the settings",
    ("gateway/domain/exports.py", "cache"): "names of modules, of ten packages",
    ("gateway/domain/realm/sign_in.py", "cached_property"): "three values for a realm in memory",
    ("gateway/storage/cache.py", "OrderedDict"): "bounded in bytes there, with groups",
    (
        "gateway/http/oidc.py",
        "WeakKeyDictionary",
    ): "three documents for a realm in memory",
    (
        "gateway/crypto/revocation/ocsp.py",
        "WeakValueDictionary",
    ): "one value for a realm while a question of it is asked",
    ("gateway/protocol/policy_checks.py", "WeakKeyDictionary"): "one value for a realm in memory",
    (
        "gateway/protocol/scopes.py",
        "WeakKeyDictionary",
    ): "one value for a realm in memory, and one for a client",
}
"""Which module may use which other kind, and why its memory is bounded all the same."""


def used_in(code: ast.Module) -> Iterator[str]:
    """Yield the kinds of caches that a module names."""
    for node in ast.walk(code):
        match node:
            case ast.ImportFrom(module="functools" | "collections" | "weakref" | "cachetools"):
                yield from (alias.name for alias in node.names if alias.name in UNBOUNDED_IN_BYTES)
            case ast.Attribute(
                value=ast.Name(id="functools" | "collections" | "weakref"), attr=name
            ) if name in UNBOUNDED_IN_BYTES:
                yield name
            case _:
                pass


def found() -> set[tuple[str, str]]:
    """Return module and kind of every cache that is not bounded in bytes."""
    return {
        (module, kind)
        for module in MODULES
        for kind in used_in(ast.parse((ROOT / module).read_text(encoding="utf-8")))
    }


def test_no_cache_counts_entries_instead_of_bytes() -> None:
    assert found() - set(ALLOWED) == set(), "use gateway.domain.limits.caches"


def test_every_exception_is_still_there_and_has_a_reason() -> None:
    assert set(ALLOWED) - found() == set()
    assert all(ALLOWED.values())


@pytest.mark.parametrize(
    "code",
    [
        "from functools import lru_cache",
        "from functools import cache as kept",
        "import functools\n@functools.lru_cache\ndef f(): ...",
        "import collections\ncollections.OrderedDict()",
        "from weakref import WeakKeyDictionary",
    ],
)
def test_every_spelling_is_found(code: str) -> None:
    assert list(used_in(ast.parse(code)))
