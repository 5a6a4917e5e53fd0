"""Unsupported endpoints say so, with Keycloak's status for a feature that is off. Keycloak: 7."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from gateway.admin.access import AdminRole
from gateway.http.admin.operations import Decided, Operation, State
from tests.support.admin_operations import operations, send, title, url_of
from tests.support.administered_realm import AdministeredRealm, administered_realm, person
from tests.support.administration import Administration

UNSUPPORTED: Final = tuple(row for row in operations() if row.state is State.NOT_SUPPORTED)
NO_ORGANIZATIONS = {"errorMessage": "Organizations not enabled for this realm."}
_AUTHORIZATION: Final = "/authz/resource-server"
"""Keycloak answers 404 to every administrator where a client has no authorization services."""
_EVERY_ROLE: Final = "Workflows"
"""The tag of endpoints that require all roles."""
_OBJECTS: Final = {
    "user_id": ("anna-of-lacking", "User not found"),
    "client_id": ("app-of-lacking", "Could not find client"),
    "group_id": ("", "Could not find group by id"),
}
"""The object of each placeholder that the realm has, and the error for an unknown one."""


def _roles(row: Operation) -> frozenset[AdminRole]:
    """Return the roles each of which is sufficient; none where any administrator may call it."""
    return frozenset() if isinstance(row.allowed, Decided) else frozenset(row.allowed)


@pytest.fixture(scope="module")
def lacking(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a caller for each role, and one without each set of sufficient roles."""
    roles = {_roles(row) for row in UNSUPPORTED}
    callers = {role.value: [role.value] for role in AdminRole}
    callers |= {_without(each): sorted(set(AdminRole) - each) for each in roles}
    settings: dict[str, Any] = {
        "roles": {"realm": [{"name": "known"}], "client": {"app": [{"name": "known"}]}},
        "clients": [{"id": _OBJECTS["client_id"][0], "clientId": "app", "enabled": True}],
        "groups": [{"name": "staff"}],
        "users": [person("anna", id=_OBJECTS["user_id"][0])],
    }
    with administered_realm(administration, "lacking", callers, **settings) as realm:
        yield realm


def _without(roles: frozenset[AdminRole]) -> str:
    return "-".join(["without", *sorted(roles)])


def _url(realm: AdministeredRealm, row: Operation, unknown: str = "") -> str:
    """Return the URL of objects that there are, but for the placeholder `unknown`."""
    known = {name: found for name, (found, _) in _OBJECTS.items()}
    known |= {"group_id": realm.get("group-by-path/staff")["id"], "realm": realm.name}
    known |= {"role_name": "known", "container": known["client_id"]}
    if unknown:
        known[unknown] = "unknown"
    return url_of(row, lambda name: known.get(name, "x"))


def _status(realm: AdministeredRealm, row: Operation, url: str, by: str) -> int:
    token = realm.administration.token(by, realm.name)
    return send(realm.administration, row, url, token).status_code


def test_every_unsupported_endpoint_requires_rights_first(lacking: AdministeredRealm) -> None:
    """Measured with Keycloak 26.7 where it has the feature.

    **Here** the permissions of single objects and client types require rights too; Keycloak answers
    501 to every administrator.
    """
    for row in UNSUPPORTED:
        if _AUTHORIZATION in row.path:
            continue
        sufficient, url = _roles(row), _url(lacking, row)
        assert sufficient, title(row)
        assert _status(lacking, row, url, _without(sufficient)) == 403, title(row)
        for role in sufficient:
            expected = 403 if row.tag == _EVERY_ROLE else row.success
            assert _status(lacking, row, url, role) == expected, f"{title(row)} by {role}"


def test_an_unsupported_endpoint_names_an_unknown_object(lacking: AdministeredRealm) -> None:
    token = lacking.administration.token()
    for row in UNSUPPORTED:
        for placeholder, (_, error) in _OBJECTS.items():
            below_realm = row.path.split("/")[4:]
            if below_realm[1:2] != [f"{{{placeholder}}}"] or _AUTHORIZATION in row.path:
                continue
            url = _url(lacking, row, unknown=placeholder)
            answer = send(lacking.administration, row, url, token)
            assert (answer.status_code, answer.json()) == (404, {"error": error}), title(row)


def test_an_unsupported_endpoint_is_refused_with_a_sentence(lacking: AdministeredRealm) -> None:
    token = lacking.administration.token()
    for row in UNSUPPORTED:
        answer = send(lacking.administration, row, _url(lacking, row), token)
        assert answer.status_code == row.success, title(row)
        document = answer.json()
        if answer.status_code == 501:
            sentence = {"error": "Feature not enabled", "error_description": row.summary}
            assert document == sentence
        else:
            assert (answer.status_code, row.summary in document.values()) == (404, True)


@pytest.mark.parametrize(
    ("method", "path", "status", "document"),
    [
        ("GET", "organizations", 404, NO_ORGANIZATIONS),
        ("POST", "organizations/x/members/invite-user", 404, NO_ORGANIZATIONS),
        (
            "GET",
            "clients/x/authz/resource-server/policy/role/y",
            404,
            {"error": "Authorization services (UMA) are not supported"},
        ),
        (
            "POST",
            "identity-provider/instances",
            501,
            {
                "error": "Feature not enabled",
                "error_description": "Identity brokering is not supported",
            },
        ),
        ("GET", "identity-provider/instances", 200, []),
    ],
)
def test_each_feature_has_its_answer(
    administration: Administration, method: str, path: str, status: int, document: object
) -> None:
    sent: dict[str, str] | None = {} if method == "POST" else None
    answer = administration.ask(method, f"acme/{path}", document=sent)
    assert (answer.status_code, answer.json()) == (status, document)
