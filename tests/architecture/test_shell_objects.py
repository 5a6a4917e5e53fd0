"""Every object of the admin API has commands: a row without one fails here."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gateway.bootstrap import open_services
from gateway.bootstrap.object_operations import OperatorOperations
from gateway.cli import main
from gateway.cli.admin_objects import (
    ACTIONS,
    CREATE,
    DELETE,
    LIST,
    OBJECTS,
    RELATIONS,
    SHOW,
    UPDATE,
    AdminObject,
    Relation,
)
from gateway.http.admin.operations import Operation, State
from gateway.settings import read_settings
from tests.support.admin_operations import operations

_ROLE_URLS = ("roles/{role_name}", "clients/{client_id}/roles/{role_name}", "roles-by-id/{role_id}")
"""The three URLs of a role; commands have one name for it."""
OWN_COMMANDS = {
    "realm list": ("GET /admin/realms",),
    "realm show": ("GET .",),
    "realm create": ("POST /admin/realms",),
    "realm update": ("PUT .",),
    "realm delete": ("DELETE .",),
    "realm export": ("POST partial-export",),
    "realm apply": ("POST partialImport",),
    "mail test": ("POST testSMTPConnection",),
    "client list": ("GET clients",),
    "client show": ("GET clients/{client_id}",),
    "client create": ("POST clients",),
    "client update": (
        "PUT clients/{client_id}",
        "PUT clients/{client_id}/administrative-roles",
    ),
    "client delete": ("DELETE clients/{client_id}",),
    "role list": ("GET roles", "GET clients/{client_id}/roles"),
    "role create": ("POST roles", "POST clients/{client_id}/roles"),
    "role show": tuple(f"GET {url}" for url in _ROLE_URLS),
    "role update": tuple(f"PUT {url}" for url in _ROLE_URLS),
    "role delete": tuple(f"DELETE {url}" for url in _ROLE_URLS),
    "group list": ("GET groups",),
    "group show": ("GET groups/{group_id}", "GET group-by-path/{path:path}"),
    "group create": ("POST groups", "POST groups/{group_id}/children"),
    "group update": ("PUT groups/{group_id}",),
    "group delete": ("DELETE groups/{group_id}",),
    "group members": ("GET groups/{group_id}/members",),
    "user list": ("GET users", "GET attack-detection/brute-force/users"),
    "user show": (
        "GET users/{user_id}",
        "GET attack-detection/brute-force/users/{user_id}",
        "GET users/{user_id}/role-mappings",
    ),
    "user create": ("POST users",),
    "user update": ("PUT users/{user_id}",),
    "user groups": (
        "GET users/{user_id}/groups",
        "PUT users/{user_id}/groups/{group_id}",
        "DELETE users/{user_id}/groups/{group_id}",
    ),
    "user set-password": ("PUT users/{user_id}/reset-password",),
    "user unlock": ("DELETE attack-detection/brute-force/users/{user_id}",),
    "user logout": ("POST users/{user_id}/logout",),
    "user roles": tuple(
        f"{method} users/{{user_id}}/role-mappings/{owner}"
        for method in ("GET", "POST", "DELETE")
        for owner in ("realm", "clients/{client_id}")
    ),
    "session list": (
        "GET users/{user_id}/sessions",
        "GET users/{user_id}/offline-sessions/{client}",
        "GET clients/{client_id}/user-sessions",
        "GET clients/{client_id}/offline-sessions",
    ),
    "session end": ("DELETE sessions/{session_id}", "POST logout-all"),
    "keys list": ("GET keys",),
    "event list": ("GET events", "GET admin-events"),
    "event clear": ("DELETE events", "DELETE admin-events"),
    "certs deny list": ("GET certificates/denied", "GET certificates/denied/{id}"),
    "certs deny add": ("POST certificates/denied",),
    "certs deny remove": ("DELETE certificates/denied/{id}",),
    "certs authority list": (
        "GET certificates/authorities",
        "GET certificates/authorities/{sha256}",
        "GET clients/{client_id}/certificates/authorities",
        "GET clients/{client_id}/certificates/authorities/{sha256}",
    ),
    "certs authority add": (
        "POST certificates/authorities",
        "POST clients/{client_id}/certificates/authorities",
    ),
    "certs authority remove": (
        "DELETE certificates/authorities/{sha256}",
        "DELETE clients/{client_id}/certificates/authorities/{sha256}",
    ),
    "certs expiring": ("GET certificates/expiring",),
    "certs explain": ("POST certificates/explain",),
    "certs device list": ("GET clients/{client_id}/device-locks",),
    "certs device lock": ("POST clients/{client_id}/device-locks",),
    "certs device unlock": ("DELETE clients/{client_id}/device-locks",),
    "guard list": ("GET guard/sites",),
    "guard show": ("GET guard/sites/{site}",),
    "guard set": ("POST guard/sites", "PUT guard/sites/{site}"),
    "guard remove": ("DELETE guard/sites/{site}",),
}
"""Rows by the command of a module of its own, below the realm."""
NO_OBJECTS = {
    "POST users/{user_id}/impersonation": "begins a session in a browser",
    "GET /admin/serverinfo": "describes the server",
    "GET /admin/{realm}/console/whoami": "describes the caller",
    "POST authentication/config": "a configuration that no execution has is of no use",
    "POST authentication/executions": "`flow execution add` creates it by the alias of the flow",
    "GET authentication/executions/{id}": "`flow execution show` finds it in the list of its flow",
    "GET authentication/executions/{id}/config/{config}": "`flow config show` has the other URL",
    "GET authentication/per-client-config-description": "always empty",
    "GET users/{user_id}/federated-identity": "always empty",
    "GET users/{user_id}/configured-user-storage-credential-types": "always empty",
    "PUT users/{user_id}/disable-credential-types": "without effect",
    "POST clear-user-cache": "the same as clear-realm-cache",
    "POST clear-keys-cache": "the same as clear-realm-cache",
    "POST clients/{client_id}/protocol-mappers/add-models": "`client mapper create` adds one",
    "POST client-scopes/{scope_id}/protocol-mappers/add-models": "as of a client",
    "GET clients/{client_id}/protocol-mappers/protocol/{protocol}": "a part of the list",
    "GET client-scopes/{scope_id}/protocol-mappers/protocol/{protocol}": "a part of the list",
    "POST push-revocation": "sends nothing",
    "POST clients/{client_id}/push-revocation": "sends nothing",
    "GET clients/{client_id}/test-nodes-available": "sends nothing",
    "POST clients/{client_id}/certificates/{attr}/upload": "takes a form with a file",
    "POST clients/{client_id}/certificates/{attr}/upload-certificate": "takes a form with a file",
    "POST clients/{client_id}/certificates/{attr}/download": "returns a key store",
    "POST clients/{client_id}/certificates/{attr}/generate-and-download": "returns a key store",
}
"""Rows without a command, with the reason."""
_DERIVED = ("/count", "/available", "/composite", "session-count", "/granted", "/not-granted")
"""Ends of URLs that count, or select from, the list of another row."""


def name_of(row: Operation) -> str:
    """Return method and path, below the realm where it is one of a realm."""
    below = row.path.removeprefix("/admin/realms/{realm}")
    if below == row.path:
        return f"{row.method} {row.path}"
    return f"{row.method} {below.removeprefix('/') or '.'}"


def _of_object(one: AdminObject) -> Iterator[str]:
    """Yield the rows that the commands of an object run."""
    replace = one.update_url or one.url_of_one
    urls = {
        LIST: f"GET {one.url}",
        SHOW: f"GET {one.url if one.update_url else one.url_of_one}",
        CREATE: f"POST {one.url}",
        UPDATE: f"PUT {replace}",
        DELETE: f"DELETE {one.url_of_one}",
    }
    if one.items:
        yield from (f"GET {one.url}", f"PUT {one.url}")
        return
    yield from (urls[verb] for verb in one.verbs)


def _of_relation(relation: Relation) -> Iterator[str]:
    yield f"GET {relation.url}"
    if relation.member is not None:
        one = f"{relation.url}/{{{relation.member.placeholder}}}"
        yield from (f"PUT {one}", f"DELETE {one}")
        return
    urls = [relation.url]
    if relation.by_owner:
        urls = [f"{relation.url}/realm", f"{relation.url}/clients/{{{relation.by_owner}}}"]
    for url in urls:
        yield from (f"POST {url}", f"DELETE {url}")


def _of_roles(row: str) -> Iterator[str]:
    """Yield a row of a role at each of its URLs."""
    yield row
    for url in _ROLE_URLS[:2]:
        yield row.replace(_ROLE_URLS[2], url)
        yield row.replace("{role}", url)


def declared_rows() -> set[str]:
    """Return the rows that the generic commands run."""
    found = {row for one in OBJECTS for row in _of_object(one)}
    found |= {row for relation in RELATIONS for row in _of_relation(relation)}
    found |= {f"{action.method} {action.url}" for action in ACTIONS}
    return {each for row in found for each in _of_roles(row)}


def rows_without_command() -> list[str]:
    declared = declared_rows()
    by_hand = {row for rows in OWN_COMMANDS.values() for row in rows}
    return [
        name
        for row in operations()
        if row.state is not State.NOT_SUPPORTED
        and (name := name_of(row)) not in declared | by_hand | NO_OBJECTS.keys()
        and not name.endswith(_DERIVED)
        and not _selects(name, declared | by_hand)
    ]


def _selects(name: str, known: set[str]) -> bool:
    """Tell whether the row lists a part of another list: roles of the realm, or of a client."""
    head, _, _ = name.rpartition("/clients/{")
    whole = head or name.removesuffix("/realm")
    return name.startswith("GET ") and whole != name and whole in known


def find_command(words: str) -> click.Command | None:
    """Return the command that these words call."""
    found: click.Command | None = main
    for word in words.split():
        if not isinstance(found, click.Group):
            return None
        found = found.get_command(click.Context(found), word)
    return found


def test_every_row_of_the_admin_api_has_a_command() -> None:
    assert rows_without_command() == []


def test_a_row_that_is_new_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(OWN_COMMANDS, "event clear")
    assert rows_without_command() == ["DELETE events", "DELETE admin-events"]


def test_every_row_with_a_command_exists() -> None:
    known = {name_of(row) for row in operations()}
    named = {row for rows in OWN_COMMANDS.values() for row in rows} | NO_OBJECTS.keys()
    assert named - known == set()
    assert {row for row in declared_rows() if "role" not in row} - known == set()


def test_commands_find_every_row_by_its_url(tmp_path: Path) -> None:
    """Commands load only the capabilities with the first segment of a URL."""

    async def find() -> None:
        settings = read_settings(state_dir=tmp_path)
        async with open_services(settings) as services:
            rows = OperatorOperations(services, settings.public_url)
            known = {name_of(row) for row in operations()}
            for row in sorted(declared_rows() & known):
                method, _, url = row.partition(" ")
                assert rows.get_operation(method, url).method == method

    asyncio.run(find())


@pytest.mark.parametrize("words", OWN_COMMANDS)
def test_every_command_of_the_table_exists(words: str) -> None:
    assert find_command(words) is not None


def test_objects_can_be_changed_by_every_verb_of_their_rows() -> None:
    """An object that the admin API creates, replaces or deletes is no list alone."""
    rows = {name_of(row) for row in operations() if row.state is not State.NOT_SUPPORTED}
    for one in OBJECTS:
        if one.items or one.key is None:
            continue
        verbs = {CREATE: f"POST {one.url}", UPDATE: f"PUT {one.url_of_one}"}
        verbs[DELETE] = f"DELETE {one.url_of_one}"
        lacking = [verb for verb, row in verbs.items() if row in rows and verb not in one.verbs]
        assert lacking == [] or one.command == "user", one.command
