"""Rules read the settings of a client, never its attributes, which the domain parses once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.domain.clients import CHECKS
from scripts.setting_rows import SETTING_ROWS, Place

ROOT = Path(__file__).parents[2]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
READERS = "gateway/representations/"
DECLARED = tuple(
    f"gateway/domain/clients/{name}.py"
    for name in ("attributes", "client", "redirect_uris", "settings")
)
OTHERS = ROOT / READERS / "clients"
WRITERS = {
    "gateway/admin/clients/defaults.py": "the JSON of the clients that every realm has",
    "gateway/admin/realm_files/early_versions.py": "the JSON of files of earlier versions",
    "gateway/admin/realm_files/migration.py": "the JSON of files of earlier versions",
    "gateway/client_policies/conditions.py": "an administrator names them",
    "gateway/storage/sql/migrations/versions/revision_0023.py": "the JSON of an earlier version",
    **{
        f"gateway/client_policies/executors/{name}.py": "what it sets, and names of addresses"
        for name in ("authorization_requests", "client_authentication", "client_settings")
    },
}
"""Modules that may name attributes: they write documents that `representations` reads."""
MODULES = sorted(
    name
    for name in (str(path.relative_to(ROOT)) for path in (ROOT / "gateway").rglob("*.py"))
    if not name.startswith(READERS) and name not in DECLARED
)


def names_at(*places: Place) -> set[str]:
    return {row.name for row in SETTING_ROWS if row.place in places}


ATTRIBUTES = names_at(Place.CLIENT_ATTRIBUTE) - names_at(
    Place.REALM_ATTRIBUTE, Place.SCOPE_ATTRIBUTE
)


def is_client(annotation: ast.expr | None) -> bool:
    """Tell whether an annotation is `Client`, or `Client | None`."""
    named = (node for node in ast.walk(annotation or ast.Constant(None)))
    return any(isinstance(node, ast.Name) and node.id == "Client" for node in named)


def clients_of(code: ast.Module) -> set[str]:
    """Return the names that a module annotates as clients."""
    arguments = (node for node in ast.walk(code) if isinstance(node, ast.arg))
    variables = (node for node in ast.walk(code) if isinstance(node, ast.AnnAssign))
    return {each.arg for each in arguments if is_client(each.annotation)} | {
        each.target.id
        for each in variables
        if isinstance(each.target, ast.Name) and is_client(each.annotation)
    }


def reads(code: ast.Module) -> Iterator[str]:
    """Yield each use of a client's attributes, and each name of one."""
    yield from _reads(code, clients_of(code))


def _reads(scope: ast.AST, clients: set[str]) -> Iterator[str]:
    """Yield the uses in one scope; a name that a function annotates otherwise is no client."""
    for node in ast.iter_child_nodes(scope):
        own = clients - (_others_of(node) if isinstance(node, FUNCTIONS) else set())
        yield from _use(node, own)
        yield from _reads(node, own)


def _others_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the arguments of a function that are annotated, and not as clients."""
    arguments = (node for node in ast.walk(function.args) if isinstance(node, ast.arg))
    return {each.arg for each in arguments if each.annotation and not is_client(each.annotation)}


def _use(node: ast.AST, clients: set[str]) -> Iterator[str]:
    match node:
        case ast.Attribute(value=owner, attr="attributes"):
            name = ast.unparse(owner).rpartition(".")[2]
            if name in clients or name.endswith("client"):
                yield f"{node.lineno}: {ast.unparse(node)}"
        case ast.Call(func=ast.Name(id="replace"), args=[ast.Name(id=name), *_]) if (
            name in clients or name.endswith("client")
        ):
            if any(keyword.arg == "attributes" for keyword in node.keywords):
                yield f"{node.lineno}: {ast.unparse(node)}"
        case ast.Constant(value=str(text)) if text in ATTRIBUTES:
            yield f"{node.lineno}: {text!r}"
        case _:
            pass


def test_only_representations_read_attributes_of_clients() -> None:
    found = {
        module: list(reads(ast.parse((ROOT / module).read_text(encoding="utf-8"))))
        for module in MODULES
        if module not in WRITERS
    }
    assert {module: places for module, places in found.items() if places} == {}, (
        "read a group of `Client`"
    )


@pytest.mark.parametrize("name", sorted(str(path.name) for path in OTHERS.glob("*.py")))
def test_a_setting_is_parsed_and_checked_by_one_entry(name: str) -> None:
    code = ast.parse((OTHERS / name).read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(code) if isinstance(node, ast.Constant)}
    assert texts & CHECKS.keys() == set()


def test_every_exception_is_there() -> None:
    assert set(WRITERS) <= set(MODULES)


@pytest.mark.parametrize(
    "code",
    [
        "client.attributes['a']",
        "client.attributes.get('a')",
        "active.client.attributes",
        "def f(caller: Client): caller.attributes",
        "def f(before: Client | None): return {**before.attributes}",
        "replace(client, attributes={})",
        "kept: Client = other\nkept.attributes",
        "texts.get('access.token.lifespan')",
        "LIFESPAN = 'access.token.lifespan'",
    ],
)
def test_every_way_of_reading_is_found(code: str) -> None:
    assert list(reads(ast.parse(code))) != []


@pytest.mark.parametrize(
    "code",
    [
        "def f(user: User, client: Client): return user.attributes['a'], client.tokens",
        "def f(before: Client): pass\ndef g(before: Role): replace(before, attributes={})",
    ],
)
def test_attributes_of_others_are_theirs(code: str) -> None:
    assert list(reads(ast.parse(code))) == []
