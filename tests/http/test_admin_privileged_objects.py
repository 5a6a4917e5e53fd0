"""Changes to users, clients, groups and roles with more rights than the caller.

The matrix is made from the table of operations: each operation that is not a GET, on each kind of
object that its path or body names, through nginx. The caller has every administrative role but two.
Keycloak: 9; stricter than it
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, cast

import httpx2
import pytest

from gateway.admin.access.rights import AdminRole, ObjectKind
from gateway.http.admin.endpoint import OBJECTS, controlled_placeholders
from gateway.http.admin.operations import Media, Operation, State
from gateway.http.registration import build_providers
from tests.support.admin_operations import operations, parameters, send, title, url_of
from tests.support.administered_realm import (
    SIGN_IN,
    AdministeredRealm,
    administered_realm,
    person,
)
from tests.support.administration import PASSWORD, Administration
from tests.support.registration import Registration
from tests.support.spec_stack import Stack

REALM = "/admin/realms/{realm}"
FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})
MISSING = frozenset({AdminRole.MANAGE_EVENTS, AdminRole.VIEW_EVENTS})
"""The roles that the caller lacks."""
ADMINISTRATORS: Final = {
    "almost": [str(role) for role in AdminRole if role not in MISSING],
    "everything": ["realm-admin"],
}
ABOVE: Final = {"realm-management": ["manage-events"]}
ENGINE_SECRET = "the secret of the engine"

Objects = Mapping[str, tuple[str, ...]]
"""Values of placeholders that name objects with more rights than the caller."""


def engine(name: str, **fields: Any) -> dict[str, Any]:
    """Return a client whose service account has more rights than the caller."""
    return {
        "id": f"{name}-id",
        "clientId": name,
        "secret": ENGINE_SECRET,
        "serviceAccountsEnabled": True,
        "enabled": True,
        "protocolMappers": [
            {
                "id": f"{name}-mapper",
                "name": "team",
                "protocol": "openid-connect",
                "protocolMapper": "oidc-usermodel-attribute-mapper",
                "config": {"user.attribute": "team", "claim.name": "team"},
            }
        ],
        **fields,
    }


@pytest.fixture(scope="module")
def realm(spec: Stack) -> Iterator[AdministeredRealm]:
    """Make a realm with objects of each kind above the caller `almost`, behind nginx."""
    accounts = [
        {
            "username": f"service-account-{name}",
            "serviceAccountClientId": name,
            "clientRoles": ABOVE,
        }
        for name in ("engine", "disabled-engine")
    ]
    with spec.nginx.client() as http:
        http.base_url = spec.nginx.https
        administration = Administration(spec.gateways[0], http)
        administration.tokens["root", "master"] = spec.administrator()
        with administered_realm(
            administration,
            "privileged",
            ADMINISTRATORS,
            bruteForceProtected=True,
            failureFactor=2,
            waitIncrementSeconds=600,
            quickLoginCheckMilliSeconds=0,
            passwordPolicy=SIGN_IN["passwordPolicy"],
            attributes=SIGN_IN["attributes"],
            roles={
                "realm": [
                    {"name": "plain"},
                    {"name": "outer", "composites": {"client": ABOVE}},
                ],
                "client": {
                    "device": [{"name": "use"}, {"name": "high", "composites": {"client": ABOVE}}]
                },
            },
            groups=[
                {"name": "powers", "clientRoles": ABOVE, "subGroups": [{"name": "below"}]},
                {"name": "parent", "subGroups": [{"name": "child", "clientRoles": ABOVE}]},
                {"name": "free"},
            ],
            users=[
                person("boss", id="boss-id", clientRoles=ABOVE),
                person("member", id="member-id", groups=["/powers/below"]),
                person("holder", id="holder-id", realmRoles=["outer"]),
                person("suspended", id="suspended-id", enabled=False, clientRoles=ABOVE),
                person("victim", id="victim-id"),
                *accounts,
            ],
            clients=[
                *SIGN_IN["clients"],
                engine("engine"),
                engine("disabled-engine", enabled=False),
                {"id": "device-id", "clientId": "device", "enabled": True},
            ],
        ) as made:
            yield made
            administration.tokens["root", "master"] = spec.administrator()


@pytest.fixture(scope="module")
def above(realm: AdministeredRealm) -> Objects:
    """Return the objects that have more rights than the caller, by placeholder."""
    accounts = [
        realm.get(f"clients/{name}/service-account-user", by="everything")["id"]
        for name in ("engine-id", "disabled-engine-id")
    ]
    groups = [group_id(realm, path) for path in ("powers", "powers/below")]
    roles = [realm.get(f"roles/{name}", by="everything")["id"] for name in ("outer",)]
    high = realm.get("clients/device-id/roles/high", by="everything")["id"]
    users = ("boss-id", "member-id", "holder-id", "suspended-id", *accounts)
    return {
        "user_id": users,
        "member_id": users,
        "client_id": ("engine-id", "disabled-engine-id"),
        "group_id": tuple(groups),
        "role_id": (*roles, high),
        "role_name": ("outer",),
    }


@pytest.fixture(scope="module")
def others(realm: AdministeredRealm) -> Mapping[str, str]:
    """Return values of placeholders that exist, and are within the rights of the caller."""
    (credential,) = realm.get("users/boss-id/credentials", by="everything")
    scope = realm.get("client-scopes", by="everything")[0]["id"]
    return {
        "realm": realm.name,
        "user_id": "victim-id",
        "client_id": "device-id",
        "group_id": group_id(realm, "free"),
        "role_id": realm.get("roles/plain", by="everything")["id"],
        "role_name": "plain",
        "credential_id": credential["id"],
        "previous_id": credential["id"],
        "mapper_id": "engine-mapper",
        "scope_id": scope,
        "container": "device-id",
        "attr": "jwt.credential",
        "node": "node.test",
    }


def group_id(realm: AdministeredRealm, path: str) -> str:
    return str(realm.get(f"group-by-path/{path}", by="everything")["id"])


def state_of(realm: AdministeredRealm, above: Objects) -> dict[str, Any]:
    """Return all that the matrix could change of the objects above the caller."""
    paths = ["", "default-groups", "users/victim-id", "users/victim-id/groups", "roles"]
    for user in (*above["user_id"], "victim-id"):
        parts = ("", "/credentials", "/groups", "/role-mappings")
        paths += [f"users/{user}{part}" for part in parts]
    for client in above["client_id"]:
        paths += [f"clients/{client}", f"clients/{client}/roles"]
        paths += [
            f"clients/{client}/scope-mappings",
            f"clients/{client}/certificates/jwt.credential",
        ]
    groups = (*above["group_id"], group_id(realm, "free"), group_id(realm, "parent/child"))
    for group in groups:
        paths += [f"groups/{group}", f"groups/{group}/children", f"groups/{group}/role-mappings"]
    paths += [f"roles/{name}/composites" for name in ("outer", "plain")]
    paths += [f"clients/device-id/roles/{name}/composites" for name in ("high", "use")]
    return {path: realm.get(path, by="everything") for path in paths}


def changing(kind: ObjectKind) -> list[tuple[Operation, str]]:
    """Return the operations that control an object of a kind, with the placeholder for it."""
    return [
        (row, name)
        for row in operations()
        for name in controlled_placeholders(row)
        if row.method != "GET" and OBJECTS[name] is kind
    ]


def ask(
    realm: AdministeredRealm, row: Operation, values: Mapping[str, str], by: str = "almost"
) -> tuple[int, Any]:
    """Ask an operation with the least body; return status and document."""
    url = url_of(row, lambda name: values.get(name, f"no-{name}"))
    token = realm.administration.token(by, realm.name)
    answer = send(realm.administration, row, url, token)
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    return answer.status_code, answer.json() if is_json and answer.content else None


@pytest.mark.parametrize("kind", list(ObjectKind))
def test_no_operation_changes_an_object_with_more_rights(
    realm: AdministeredRealm, above: Objects, others: Mapping[str, str], kind: ObjectKind
) -> None:
    before = state_of(realm, above)
    allowed = []
    for row, placeholder in changing(kind):
        for identity in above[placeholder]:
            values = {**others, placeholder: identity}
            if placeholder == "role_name" and "client_id" in parameters(row):
                values["role_name"] = "high"
            if ask(realm, row, values) != FORBIDDEN:
                allowed.append((title(row), identity))
    assert allowed == []
    assert changing(kind)
    assert state_of(realm, above) == before


@pytest.mark.parametrize("row", [row for row in operations() if row.harmless], ids=title)
def test_an_exempt_operation_needs_a_reason_and_is_allowed(
    realm: AdministeredRealm, others: Mapping[str, str], row: Operation
) -> None:
    assert row.method != "GET"
    assert ask(realm, row, {**others, "user_id": "boss-id"})[0] == row.success


def test_harmless_operations_are_those_that_end_sessions() -> None:
    assert {title(row) for row in operations() if row.harmless} == {"POST /users/{user_id}/logout"}


def test_an_unknown_placeholder_stops_the_gateway() -> None:
    row = next(row for row in operations() if row.method == "PUT")
    new = Operation("PUT", f"{REALM}/people/{{person}}", "Update", row.handler, "Users", ())
    with pytest.raises(ValueError, match="person"):
        controlled_placeholders(new)


def test_no_operation_reveals_a_secret_with_more_rights(
    realm: AdministeredRealm, others: Mapping[str, str]
) -> None:
    revealing = []
    for row in operations():
        supported = row.state is not State.NOT_SUPPORTED
        if row.method != "GET" or not row.path.startswith(REALM) or not supported:
            continue
        values = {**others, "client_id": "engine-id", "provider_id": "keycloak-oidc-keycloak-json"}
        status, document = ask(realm, row, values)
        assert status < httpx2.codes.INTERNAL_SERVER_ERROR
        if ENGINE_SECRET in str(document):
            revealing.append(title(row))
        if row.reveals:
            assert (status, document) == FORBIDDEN, title(row)
    assert revealing == []
    export = realm.ask("POST", "partial-export?exportClients=true", by="almost")
    assert export.is_success
    assert ENGINE_SECRET not in export.text


NAMING: Final[Mapping[str, bool]] = {
    "CertificateAuthorityRepresentation": False,
    "CertificateExplanationRequest": False,
    "RealmRepresentation": True,
    "PartialImportRepresentation": True,
    "UserRepresentation": True,
    "GroupRepresentation": True,
    "RoleRepresentation": True,
    "AuthenticationExecutionInfoRepresentation": False,
    "AuthenticationExecutionRepresentation": False,
    "AuthenticationFlowRepresentation": False,
    "AuthenticatorConfigRepresentation": False,
    "ClientInitialAccessCreatePresentation": False,
    "ClientPoliciesRepresentation": False,
    "ClientProfilesRepresentation": False,
    "ClientRepresentation": False,
    "ClientScopeRepresentation": False,
    "ComponentRepresentation": False,
    "CredentialRepresentation": False,
    "DeniedCertificateRepresentation": False,
    "DeviceLockRepresentation": False,
    "KeyStoreConfig": False,
    "ProtocolMapperRepresentation": False,
    "RealmEventsConfigRepresentation": False,
    "RequiredActionConfigRepresentation": False,
    "RequiredActionProviderRepresentation": False,
    "SiteRepresentation": False,
    "UPConfig": False,
    "object": False,
}
"""Whether a body of that schema can name a user, client, group or role that exists."""
UNNAMED: Final = frozenset(
    {
        "PUT /users/{user_id}/disable-credential-types",
        "PUT /users/{user_id}/execute-actions-email",
        "POST /authentication/flows/{alias}/copy",
        "POST /authentication/flows/{alias}/executions/execution",
        "POST /authentication/flows/{alias}/executions/flow",
        "POST /authentication/register-required-action",
        "POST /localization/{locale}",
    }
)
"""Operations with a body without a schema, which name no such object."""
SCOPE = "a scope limits what tokens carry: it grants nothing"
NOT_READ: Final[Mapping[str, str]] = {
    "PUT /groups/{group_id}": "the id in the body must be that of the path",
    **{
        f"{method} /{owner}/scope-mappings/{roles}": SCOPE
        for method in ("POST", "DELETE")
        for owner in ("clients/{client_id}", "client-scopes/{scope_id}")
        for roles in ("realm", "clients/{container}")
    },
}
"""Operations whose bodies control no object, and why."""


def rows_with_bodies() -> dict[str, Operation]:
    """Return the operations whose bodies can name an object with rights."""
    found = {}
    for row in operations():
        body = row.body
        if body is None or not row.path.startswith(REALM) or body.media in {Media.TEXT, Media.FORM}:
            continue
        if (body.schema and NAMING[body.schema]) or (not body.schema and title(row) not in UNNAMED):
            found[title(row)] = row
    return found


def bodies(realm: AdministeredRealm) -> dict[str, list[Any]]:
    """Return, for each operation, bodies that name objects above the caller."""
    get = partial(realm.get, by="everything")
    outer, high = get("roles/outer"), get("clients/device-id/roles/high")
    (holder,) = get("clients?clientId=realm-management")
    manage = get(f"clients/{holder['id']}/roles/manage-events")
    below = {"name": "below", "id": group_id(realm, "powers/below")}
    parent = {"name": "parent", "id": group_id(realm, "parent")}
    new = {"name": "sneaky", "composite": True, "composites": {"realm": ["outer"]}}
    roles: dict[str, list[Any]] = {
        f"{method} {path}": [[outer], [high], [manage]]
        for method in ("POST", "DELETE")
        for path in (
            "/roles/{role_name}/composites",
            "/roles-by-id/{role_id}/composites",
            "/clients/{client_id}/roles/{role_name}/composites",
        )
    }
    mappings: dict[str, list[Any]] = {
        f"{method} /{owner}/role-mappings/{part}": [[named]]
        for method in ("POST", "DELETE")
        for owner in ("users/{user_id}", "groups/{group_id}")
        for part, named in (("realm", outer), ("clients/{client_id}", high))
    }
    imported: list[dict[str, Any]] = [
        {"users": [{"username": "boss"}]},
        {"users": [{"username": "sneaky", "clientRoles": ABOVE}]},
        {"users": [{"username": "sneaky", "groups": ["/powers"]}]},
        {
            "users": [
                {"username": "service-account-engine", "serviceAccountClientId": "engine"},
            ]
        },
        {"clients": [{"clientId": "engine"}]},
        {"clients": [{"clientId": "disabled-engine", "enabled": True}]},
        {"groups": [{"name": "powers"}]},
        {"groups": [{"name": "parent"}]},
        {"groups": [{"name": "sneaky", "realmRoles": ["outer"]}]},
        {"roles": {"realm": [{"name": "outer"}]}},
        {"roles": {"client": {"device": [{"name": "high"}]}}},
        {"roles": {"realm": [new]}},
    ]
    return {
        **roles,
        **mappings,
        "POST /roles": [new],
        "POST /clients/{client_id}/roles": [new],
        "POST /users": [{"username": "sneaky", "groups": ["/powers/below"]}],
        "POST /groups": [below, {"name": "child", "id": group_id(realm, "parent/child")}],
        "POST /groups/{group_id}/children": [below, parent],
        "PUT .": [{"defaultGroups": ["/powers"]}],
        "POST /partialImport": [{"ifResourceExists": "OVERWRITE", **one} for one in imported],
    }


def ignored() -> dict[str, list[Any]]:
    """Return bodies that name objects above the caller in fields that the operation ignores."""
    composites = {"composite": True, "composites": {"realm": ["outer"]}}
    return {
        "PUT /users/{user_id}": [{"groups": ["/powers"], "clientRoles": ABOVE}],
        "PUT /roles/{role_name}": [{"name": "plain", **composites}],
        "PUT /roles-by-id/{role_id}": [{"name": "plain", **composites}],
        "PUT /clients/{client_id}/roles/{role_name}": [{"name": "use", **composites}],
    }


def test_every_schema_of_a_body_is_declared() -> None:
    schemas = {row.body.schema for row in operations() if row.body and row.body.schema}
    assert schemas == NAMING.keys()


def test_no_body_names_an_object_with_more_rights(
    realm: AdministeredRealm, above: Objects, others: Mapping[str, str]
) -> None:
    named, passed_over = bodies(realm), ignored()
    assert rows_with_bodies().keys() == {*named, *passed_over, *NOT_READ}
    before = state_of(realm, above)
    allowed = []
    for name, row in rows_with_bodies().items():
        values = {**others, "role_name": "use"} if "/roles/{role_name}" in row.path else {**others}
        if row.path.startswith(f"{REALM}/roles/"):
            values["role_name"] = "plain"
        url = url_of(row, values.__getitem__)
        for sent in (*named.get(name, ()), *passed_over.get(name, ())):
            path = url.removeprefix(f"/admin/realms/{realm.name}").removeprefix("/")
            answer = realm.ask(row.method, path, sent, by="almost")
            is_refused = (answer.status_code, answer.text) == (
                403,
                '{"error":"HTTP 403 Forbidden"}',
            )
            if is_refused is (name in passed_over):
                allowed.append((name, sent, answer.status_code, answer.text))
    assert allowed == []
    assert state_of(realm, above) == before


@pytest.mark.parametrize("group", ["powers", "powers/below", "parent"])
def test_a_group_above_a_group_with_more_rights_is_not_removed(
    realm: AdministeredRealm, group: str
) -> None:
    path = f"groups/{group_id(realm, group)}"
    assert realm.refused("DELETE", path, by="almost") == FORBIDDEN
    assert group_id(realm, group)


def test_default_groups_with_more_rights_than_the_caller_stay(
    realm: AdministeredRealm,
) -> None:
    powers = f"default-groups/{group_id(realm, 'powers')}"
    realm.change("PUT", powers, by="everything")
    try:
        assert realm.refused("PUT", "", {"defaultGroups": []}, by="almost") == FORBIDDEN
        realm.change("PUT", "", {"defaultGroups": ["/powers"]}, by="almost")
    finally:
        realm.change("DELETE", powers, by="everything")


REGISTRATION: Final = [
    (name, method)
    for name, provider in build_providers(cast("Any", None), "").items()
    for method in provider.one
]


@pytest.mark.parametrize(("provider", "method"), REGISTRATION)
def test_client_registration_changes_no_client_with_more_rights(
    realm: AdministeredRealm, provider: str, method: str
) -> None:
    """Neither by the roles of the caller nor by the client's own registration access token."""
    before = realm.get("clients/engine-id", by="everything")
    path = "clients/engine-id/registration-access-token"
    own = realm.ask("POST", path, by="everything").json()["registrationAccessToken"]
    service = Registration(realm)
    for token in (service.bearer("almost"), own):
        document = {"clientId": "engine", "client_id": "engine"} if method == "PUT" else None
        answer = service.ask(method, f"{provider}/engine", document, token=token)
        assert ENGINE_SECRET not in answer.text
        if method != "GET":
            assert answer.status_code == httpx2.codes.FORBIDDEN, answer.text
    assert realm.get("clients/engine-id", by="everything") == before


def test_an_object_is_controlled_by_an_equal_caller(
    realm: AdministeredRealm,
) -> None:
    own = f"users/{realm.account('almost')}"
    realm.change("PUT", own, {"firstName": "Same"}, by="almost")
    realm.change("PUT", "clients/client-of-almost", {"description": "own"}, by="almost")
    for method, path, document in (
        ("PUT", "users/boss-id", {"enabled": False}),
        ("PUT", "users/boss-id", {"enabled": True}),
        ("PUT", "users/boss-id/reset-password", {"type": "password", "value": PASSWORD}),
        ("PUT", "clients/engine-id", {"enabled": False}),
        ("PUT", "clients/engine-id", {"enabled": True}),
    ):
        realm.change(method, path, document, by="everything")


def test_clearing_all_failures_keeps_those_of_higher_users(
    realm: AdministeredRealm,
) -> None:
    """Or its password could be guessed without limit."""
    users = "attack-detection/brute-force/users"
    for name in ("boss", "victim"):
        form = {"grant_type": "password", "client_id": "page", "username": name, "password": "no"}
        for _ in range(2):
            url = f"/realms/{realm.name}/protocol/openid-connect/token"
            assert not realm.administration.http.post(url, data=form).is_success
    realm.change("DELETE", users, by="almost")
    locked = {
        name: realm.get(f"{users}/{name}-id", by="everything")["disabled"]
        for name in ("boss", "victim")
    }
    assert locked == {"boss": True, "victim": False}
    realm.change("DELETE", users, by="everything")
    assert not realm.get(f"{users}/boss-id", by="everything")["disabled"]
