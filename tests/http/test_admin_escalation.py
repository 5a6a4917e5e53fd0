"""Nobody gives more than they have, by whatever way, and nobody reaches another realm.

Keycloak: 9; stricter than it: roles that contain administrative ones, and groups, count as well
"""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gateway.admin.access.rights import AdminRole
from tests.support.administered_realm import AdministeredRealm, administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration

FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})
ADMINISTRATORS = {
    "users-only": ["manage-users", "view-clients"],
    "realm-only": ["manage-realm"],
    "clients-only": ["manage-clients"],
    "users-and-realm": ["manage-users", "manage-realm", "view-clients"],
    "clients-and-realm": ["manage-clients", "manage-realm"],
    "everything": ["realm-admin"],
    "nobody": [],
}

PRETENDER = {
    "clientId": "pretender",
    "secret": SECRET,
    "serviceAccountsEnabled": True,
    "enabled": True,
    "protocolMappers": [
        {
            "name": f"every {name}",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-hardcoded-role-mapper",
            "config": {"role": f"realm-management.{name}"},
        }
        for name in ("manage-users", "realm-admin")
    ],
}
"""A client whose tokens carry roles that its service account does not have."""

NARROWED = {
    "id": "narrowed-id",
    "clientId": "narrowed",
    "secret": SECRET,
    "serviceAccountsEnabled": True,
    "fullScopeAllowed": False,
    "enabled": True,
}
"""A client of whose service account's roles its tokens carry only `manage-clients`."""

COMPLETE = {"email": "chief@escalation.test", "firstName": "Chief", "lastName": "Officer"}
"""What the user profile requires of a user who signs in."""


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm in which a group and a composite role bring `manage-realm`."""
    roles = {
        "realm": [
            {"name": "plain"},
            {"name": "inner", "composites": {"client": {"realm-management": ["manage-realm"]}}},
            {"name": "outer", "composites": {"realm": ["inner"]}},
        ]
    }
    groups = [
        {
            "name": "powers",
            "clientRoles": {"realm-management": ["manage-realm"]},
            "subGroups": [{"name": "below"}],
        },
        {"name": "wrapped", "realmRoles": ["outer"]},
        {"name": "people", "clientRoles": {"realm-management": ["manage-users"]}},
        {"name": "free"},
    ]
    with administered_realm(
        administration,
        "escalation",
        ADMINISTRATORS,
        roles=roles,
        groups=groups,
        users=[
            {"username": "victim", "enabled": True},
            person("chief", **COMPLETE, clientRoles={"realm-management": ["realm-admin"]}),
            {
                "username": "service-account-narrowed",
                "serviceAccountClientId": "narrowed",
                "clientRoles": {"realm-management": ["realm-admin"]},
            },
        ],
        clients=[{"id": "device-id", "clientId": "device", "enabled": True}, PRETENDER, NARROWED],
        clientScopeMappings={
            "realm-management": [{"client": "narrowed", "roles": ["manage-clients"]}]
        },
    ) as made:
        yield made


@pytest.fixture(scope="module")
def management(realm: AdministeredRealm) -> str:
    """Return the id of the client that holds the administrative roles."""
    return str(realm.admin_roles("users-only")["id"])


def admin_role(realm: AdministeredRealm, management: str, name: str) -> Any:
    return realm.get(f"clients/{management}/roles/{name}")


def holders(realm: AdministeredRealm, who: str) -> tuple[str, str]:
    """Return the mappings of somebody's account, and of a group without roles."""
    group = realm.get("group-by-path/free")["id"]
    return f"users/{realm.account(who)}/role-mappings", f"groups/{group}/role-mappings"


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_nobody_maps_a_role_above_their_own(
    realm: AdministeredRealm, management: str, method: str
) -> None:
    wanted = admin_role(realm, management, "manage-realm")
    every = admin_role(realm, management, "realm-admin")
    for path in holders(realm, "nobody"):
        for one in (wanted, every):
            sent = (method, f"{path}/clients/{management}", [one])
            assert realm.refused(*sent, by="users-only") == FORBIDDEN
        for allowed in ("POST", "DELETE"):
            sent = (allowed, f"{path}/clients/{management}", [wanted])
            realm.change(*sent, by="users-and-realm")


@pytest.mark.parametrize("name", ["inner", "outer"])
def test_a_role_that_contains_one_above_is_above_too(realm: AdministeredRealm, name: str) -> None:
    role = realm.get(f"roles/{name}")
    for path in holders(realm, "nobody"):
        for method in ("POST", "DELETE"):
            assert realm.refused(method, f"{path}/realm", [role], by="users-only") == FORBIDDEN
        available = realm.get(f"{path}/realm/available", by="users-only")
        assert {"inner", "outer"}.isdisjoint(one["name"] for one in available)
        assert "plain" in [one["name"] for one in available]
        realm.change("POST", f"{path}/realm", [role], by="users-and-realm")
        assert realm.refused("DELETE", f"{path}/realm", by="users-only") == FORBIDDEN
        realm.change("DELETE", f"{path}/realm", [role], by="users-and-realm")


def test_what_may_be_given_is_all_that_is_offered(
    realm: AdministeredRealm, management: str
) -> None:
    for path in holders(realm, "users-only"):
        offered = realm.get(f"{path}/clients/{management}/available", by="users-only")
        names = {one["name"] for one in offered}
        assert {"view-users", "manage-users", "query-realms"} - names <= set(
            ADMINISTRATORS["users-only"]
        )
        assert names.isdisjoint({"manage-realm", "realm-admin", "view-events", "manage-clients"})


def test_nobody_lets_a_role_contain_one_above_their_own(
    realm: AdministeredRealm, management: str
) -> None:
    above = admin_role(realm, management, "manage-users")
    inner = realm.get("roles/inner")
    for path, who in (
        ("roles/plain", "realm-only"),
        ("roles/default-roles-escalation", "realm-only"),
        ("roles/plain", "clients-only"),
        ("roles/default-roles-escalation", "users-and-realm"),
    ):
        for method in ("POST", "DELETE"):
            refused = realm.refused(method, f"{path}/composites", [above], by=who)
            assert refused == FORBIDDEN, (path, who)
    realm.change("POST", "clients/device-id/roles", {"name": "use"})
    path = "clients/device-id/roles/use/composites"
    assert realm.refused("POST", path, [above], by="clients-only") == FORBIDDEN
    assert realm.refused("POST", path, [inner], by="clients-only") == FORBIDDEN
    realm.change("POST", path, [above], by="everything")
    realm.change("DELETE", path, [above], by="everything")


def test_nobody_makes_a_role_that_contains_one_above_their_own(
    realm: AdministeredRealm,
) -> None:
    for who, parts in (
        ("realm-only", {"client": {"realm-management": ["manage-users"]}}),
        ("realm-only", {"client": {"account": ["view-profile"]}}),
        ("users-and-realm", {"client": {"realm-management": ["manage-realm"]}}),
    ):
        document = {"name": "sneaky", "composite": True, "composites": parts}
        assert realm.refused("POST", "roles", document, by=who) == FORBIDDEN
        assert realm.refused("GET", "roles/sneaky")[0] == 404


@pytest.mark.parametrize("group", ["powers", "powers/below", "wrapped"])
def test_nobody_moves_a_group_to_where_its_members_get_more(
    realm: AdministeredRealm, group: str
) -> None:
    above = realm.get(f"group-by-path/{group}")["id"]
    moved = {"name": "free", "id": realm.get("group-by-path/free")["id"]}
    path = f"groups/{above}/children"
    assert realm.refused("POST", path, moved, by="users-only") == FORBIDDEN
    assert realm.get("group-by-path/free")["id"] == moved["id"]
    realm.change("POST", path, moved, by="users-and-realm")
    assert realm.refused("POST", "groups", moved, by="users-only") == FORBIDDEN
    realm.change("POST", "groups", moved, by="users-and-realm")


def test_nobody_creates_a_user_in_a_group_that_brings_more(realm: AdministeredRealm) -> None:
    for group in ("/powers", "/powers/below", "/wrapped"):
        document = {"username": "sneaky", "groups": [group]}
        assert realm.refused("POST", "users", document, by="users-only") == FORBIDDEN
    assert realm.get("users?username=sneaky") == []


def test_nobody_joins_a_group_that_brings_more(realm: AdministeredRealm) -> None:
    own = realm.account("users-only")
    for path in ("powers", "powers/below", "wrapped"):
        group = realm.get(f"group-by-path/{path}")["id"]
        joined = f"users/{own}/groups/{group}"
        assert realm.refused("PUT", joined, by="users-only") == FORBIDDEN
        assert realm.get(f"users/{own}/groups") == []
        realm.change("PUT", joined, by="users-and-realm")
        realm.change("DELETE", joined)
    free = f"users/{own}/groups/{realm.get('group-by-path/free')['id']}"
    realm.change("PUT", free, by="users-only")
    realm.change("DELETE", free, by="users-only")


def test_nobody_lets_new_users_join_a_group_that_brings_more(realm: AdministeredRealm) -> None:
    group = realm.get("group-by-path/people")["id"]
    for method, path, document in (
        ("PUT", f"default-groups/{group}", None),
        ("PUT", "", {"defaultGroups": ["/people"]}),
    ):
        assert realm.refused(method, path, document, by="realm-only") == FORBIDDEN
    assert realm.get("default-groups") == []
    realm.change("PUT", f"default-groups/{realm.get('group-by-path/free')['id']}", by="realm-only")


@pytest.mark.parametrize(
    ("parts", "enough"),
    [
        ({"users": [{"username": "sneaky"}]}, "users-and-realm"),
        ({"groups": [{"name": "sneaky"}]}, "users-and-realm"),
        ({"clients": [{"clientId": "sneaky"}]}, "everything"),
        ({"roles": {"client": {"device": [{"name": "sneaky"}]}}}, "everything"),
        ({"roles": {"realm": [{"name": "sneaky"}]}}, "realm-only"),
    ],
)
def test_an_import_needs_the_rights_of_each_of_its_parts(
    realm: AdministeredRealm, parts: dict[str, Any], enough: str
) -> None:
    if enough != "realm-only":
        assert realm.refused("POST", "partialImport", parts, by="realm-only") == FORBIDDEN
    realm.change("POST", "partialImport", {**parts, "ifResourceExists": "FAIL"}, by=enough)


@pytest.mark.parametrize("name", ["grown", "default-roles-escalation"])
def test_an_import_composes_roles_with_the_right_to_compose(
    realm: AdministeredRealm, name: str
) -> None:
    """The right to manage the realm alone puts no role of a service into roles of its users."""
    realm.change("POST", "clients/device-id/roles", {"name": "operator"})
    if name == "grown":
        realm.change("POST", "roles", {"name": name})
    contained = realm.get(f"roles/{name}/composites")
    kept: dict[str, Any] = {"client": {}}
    for part in contained:
        if part["clientRole"]:
            client = realm.get(f"clients/{part['containerId']}")["clientId"]
            kept["client"].setdefault(client, []).append(part["name"])
        else:
            kept.setdefault("realm", []).append(part["name"])
    more = {**kept, "client": {**kept["client"], "device": ["operator"]}}

    def imported(composites: dict[str, Any], named: str = name) -> dict[str, Any]:
        roles = {"realm": [{"name": named, "composites": composites}]}
        return {"ifResourceExists": "OVERWRITE", "roles": roles}

    realm.change("POST", "partialImport", imported(kept), by="realm-only")
    for document in (imported(more), imported(more, f"new {name}")):
        assert realm.refused("POST", "partialImport", document, by="realm-only") == FORBIDDEN
    realm.change("POST", "partialImport", imported(more), by="everything")
    realm.change("POST", "partialImport", imported(more), by="realm-only")
    assert realm.refused("POST", "partialImport", imported(kept), by="realm-only") == FORBIDDEN
    found = {part["name"] for part in realm.get(f"roles/{name}/composites")}
    assert found == {"operator", *(part["name"] for part in contained)}
    realm.ask("DELETE", "clients/device-id/roles/operator")


@pytest.mark.parametrize("who", ["everything", ""])
def test_the_roles_that_hold_rights_are_changed_by_nobody(
    realm: AdministeredRealm, management: str, who: str
) -> None:
    path = f"clients/{management}/roles"
    role = admin_role(realm, management, "view-users")
    other = admin_role(realm, management, "view-events")
    by_id = f"roles-by-id/{role['id']}"
    for method, changed, document in (
        ("POST", path, {"name": "view-users"}),
        ("POST", path, {"name": "new"}),
        ("PUT", f"{path}/view-users", role | {"name": "view-users-2"}),
        ("PUT", f"{path}/view-users", role | {"description": "x"}),
        ("PUT", by_id, role | {"description": "x"}),
        ("DELETE", f"{path}/view-users", None),
        ("DELETE", by_id, None),
        ("POST", f"{path}/view-users/composites", [other]),
        ("DELETE", f"{path}/view-users/composites", [other]),
        ("POST", f"{by_id}/composites", [other]),
    ):
        assert realm.refused(method, changed, document, by=who) == FORBIDDEN
    assert admin_role(realm, management, "view-users") == role


def master(administration: Administration) -> AdministeredRealm:
    return AdministeredRealm(administration, "master")


def test_in_master_the_roles_over_realms_are_changed_by_nobody(
    administration: Administration,
) -> None:
    realm = master(administration)
    for name in ("admin", "create-realm"):
        role = realm.get(f"roles/{name}")
        for method, path, document in (
            ("PUT", f"roles/{name}", role | {"description": "x"}),
            ("DELETE", f"roles/{name}", None),
            ("DELETE", f"roles-by-id/{role['id']}", None),
            ("POST", f"roles/{name}/composites", [realm.get("roles/offline_access")]),
        ):
            assert realm.refused(method, path, document) == FORBIDDEN
    composites = realm.get("roles/admin/composites?search=manage-realm")
    assert composites
    for one in composites:
        path = f"clients/{one['containerId']}/roles"
        assert realm.refused("POST", path, {"name": "new"}) == FORBIDDEN
        assert realm.refused("DELETE", f"{path}/manage-realm") == FORBIDDEN


def test_the_administrator_of_one_realm_reaches_no_other(
    realm: AdministeredRealm, administration: Administration
) -> None:
    token = administration.token("everything", realm.name)
    for name in ("master", "acme", "other"):
        for path in ("users", "roles", "groups", "roles/offline_access", "users/count"):
            answer = administration.ask("GET", f"{name}/{path}", token)
            assert (answer.status_code, answer.json()) == FORBIDDEN
    assert administration.ask("POST", "", token, document={"realm": "mine"}).status_code == 403


@pytest.mark.parametrize("role", list(AdminRole))
def test_a_right_over_one_realm_is_none_over_master(
    administration: Administration, role: AdminRole
) -> None:
    token = administration.token(role, "master")
    for path in ("users", "roles", "groups", "groups/count"):
        assert administration.ask("GET", f"master/{path}", token).status_code == 403


def test_who_creates_a_realm_needs_the_role_for_it(administration: Administration) -> None:
    for name in (*AdminRole, "nobody"):
        token = administration.token(name, "master")
        made = administration.ask("POST", "", token, document={"realm": "mine"})
        assert made.status_code == httpx2.codes.FORBIDDEN


def test_a_role_added_by_a_mapper_grants_no_right(
    realm: AdministeredRealm,
) -> None:
    carried = realm.claims("pretender")["resource_access"]["realm-management"]["roles"]
    assert {"manage-users", "realm-admin"} <= set(carried)
    for path in ("users", "roles", "groups", "users/count"):
        assert realm.refused("GET", path, by="pretender") == FORBIDDEN


@pytest.fixture
def creator(administration: Administration) -> Iterator[str]:
    """Return a client of master whose service account may create realms, and nothing else."""
    realm = master(administration)
    account = realm.account("query-realms")
    mappings = f"users/{account}/role-mappings"
    given = realm.get("roles/create-realm")
    realm.change("POST", f"{mappings}/realm", [given])
    administration.tokens.pop(("query-realms", "master"))
    yield "query-realms"
    realm.change("DELETE", f"{mappings}/realm", [given])
    administration.tokens.pop(("query-realms", "master"), None)


def test_who_creates_a_realm_administers_that_one_and_no_other(
    administration: Administration, creator: str
) -> None:
    """And brings nobody into `master`, however the document of the realm reads."""
    document = {
        "realm": "created",
        "users": [{"username": "mine", "realmRoles": ["admin"]}],
        "roles": {"realm": [{"name": "admin"}, {"name": "create-realm"}]},
        "groups": [{"name": "powers", "realmRoles": ["admin"]}],
    }
    held = len(master(administration).get("roles/admin/composites"))
    token = administration.fresh_token(creator, "master")
    made = administration.ask("POST", "", token, document=document)
    assert made.status_code == httpx2.codes.CREATED, made.text
    token = administration.fresh_token(creator, "master")
    own = administration.ask("GET", "created/users", token)
    assert (own.status_code, [user["username"] for user in own.json()]) == (200, ["mine"])
    for name in ("master", "acme"):
        assert administration.ask("GET", f"{name}/users", token).status_code == 403
    composites = master(administration).get("roles/admin/composites")
    assert len(composites) == held + len(AdminRole)
    assert administration.ask("DELETE", "created", token).status_code == 204
    assert len(master(administration).get("roles/admin/composites")) == held


@pytest.mark.parametrize("client_id", ["future-realm", "-realm", "master-realm"])
def test_in_master_no_client_is_created_that_would_own_a_realm(
    administration: Administration, client_id: str
) -> None:
    realm = master(administration)
    made = realm.ask("POST", "clients", {"clientId": client_id})
    assert (made.status_code, made.json()) == FORBIDDEN
    mine = realm.change("POST", "clients", {"clientId": "mine"})
    assert realm.refused("PUT", f"clients/{mine}", {"clientId": client_id}) == FORBIDDEN
    realm.change("DELETE", f"clients/{mine}")


def test_the_clients_that_hold_rights_are_changed_by_nobody(
    realm: AdministeredRealm, management: str
) -> None:
    client = realm.get(f"clients/{management}")
    for who in ("everything", ""):
        for method, document in (
            ("PUT", client | {"description": "x"}),
            ("PUT", {"clientId": "another"}),
            ("DELETE", None),
        ):
            assert realm.refused(method, f"clients/{management}", document, by=who) == FORBIDDEN
    assert realm.get(f"clients/{management}") == client


def imported(key: rsa.RSAPrivateKey) -> dict[str, Any]:
    """Return a key of the realm that whoever sends it knows."""
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    config = {"privateKey": [private], "certificate": [""], "active": ["false"]}
    provider = "org.keycloak.keys.KeyProvider"
    return {"name": "own", "providerId": "rsa", "providerType": provider, "config": config}


@pytest.mark.parametrize("who", ["realm-only", "users-and-realm"])
def test_no_caller_adds_a_key_to_impersonate_higher_rights(
    realm: AdministeredRealm, who: str, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    """Nor does anybody else change keys: which one signs decides whose tokens are accepted."""
    before, sent = realm.get("components"), imported(rsa_private_keys[0])
    generated = sent | {"providerId": "ecdsa-generated", "config": {"active": ["false"]}}
    for document in (sent, generated):
        assert realm.refused("POST", "components", document, by=who)[0] == 403
    assert realm.get("components") == before
    key = "components/" + realm.change("POST", "components", sent, by="everything")
    shown = realm.get(key, by=who)
    other = shown | {"config": shown["config"] | {"priority": ["7"]}}
    for document in (imported(rsa_private_keys[1]), other):
        assert realm.refused("PUT", key, document, by=who)[0] == 403
    assert realm.refused("DELETE", key, by=who)[0] == 403
    assert realm.get(key) == shown
    realm.change("PUT", key, other, by="everything")
    assert realm.get(key) == other
    realm.change("DELETE", key)


def test_all_rights_over_master_do_not_suffice_to_add_a_key(
    administration: Administration, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    """Whoever is anybody in `master` is the administrator of all realms."""
    realm = master(administration)
    (client,) = realm.get("clients?clientId=master-realm")
    mappings = f"users/{realm.account('nobody')}/role-mappings/clients/{client['id']}"
    roles = realm.get(f"clients/{client['id']}/roles")
    realm.change("POST", mappings, roles)
    sent = imported(rsa_private_keys[0])
    status, refusal = realm.refused("POST", "components", sent, by="nobody")
    assert (status, refusal["error"]) == (403, "HTTP 403 Forbidden")
    assert refusal["error_description"].endswith("also needs admin")
    realm.change("DELETE", mappings, roles)
    realm.change("DELETE", "components/" + realm.change("POST", "components", sent))


def test_nobody_widens_the_scope_that_their_token_is_limited_by(
    realm: AdministeredRealm, management: str
) -> None:
    """Or a token for one purpose would be good for all that its owner may do."""
    client = "clients/narrowed-id"
    (scope,) = (one for one in realm.get("client-scopes") if one["name"] == "profile")
    every = admin_role(realm, management, "realm-admin")
    for holder in (client, f"client-scopes/{scope['id']}"):
        mapping = ("POST", f"{holder}/scope-mappings/clients/{management}", [every])
        assert realm.refused(*mapping, by="narrowed") == FORBIDDEN
    widened = {"clientId": "narrowed", "fullScopeAllowed": True}
    assert realm.refused("PUT", client, widened, by="narrowed") == FORBIDDEN
    page = {"clientId": "narrow-page", "fullScopeAllowed": False}
    other = "clients/" + realm.change("POST", "clients", page)
    lifted = page | {"fullScopeAllowed": True}
    assert realm.refused("PUT", other, lifted, by="narrowed") == FORBIDDEN
    registration = "/realms/escalation/clients-registrations/default/narrowed"
    token = realm.administration.token("narrowed", realm.name)
    answer = realm.administration.http.put(
        registration, json=widened, headers={"Authorization": f"Bearer {token}"}
    )
    assert answer.status_code == httpx2.codes.FORBIDDEN
    assert realm.refused("GET", "users", by="narrowed") == FORBIDDEN
    free = f"client-scopes/{scope['id']}/scope-mappings/clients/{management}"
    own = admin_role(realm, management, "manage-clients")
    for method in ("POST", "DELETE"):
        realm.change(method, free, [own], by="narrowed")


def test_a_client_is_not_removed_with_a_role_of_more_rights(
    realm: AdministeredRealm, management: str
) -> None:
    """Whoever has the role would lose the rights that it contains."""
    client = "clients/" + realm.change("POST", "clients", {"clientId": "owner"})
    realm.change("POST", f"{client}/roles", {"name": "chief"})
    every = admin_role(realm, management, "realm-admin")
    realm.change("POST", f"{client}/roles/chief/composites", [every])
    for path in (f"{client}/roles/chief", client):
        assert realm.refused("DELETE", path, by="clients-only") == FORBIDDEN
    registration = f"/realms/{realm.name}/clients-registrations/default/owner"
    token = realm.administration.token("clients-only", realm.name)
    sent = {"Authorization": f"Bearer {token}"}
    answer = realm.administration.http.delete(registration, headers=sent)
    assert answer.status_code == httpx2.codes.FORBIDDEN
    overwritten = {"ifResourceExists": "OVERWRITE", "clients": [{"clientId": "owner"}]}
    by = "clients-and-realm"
    assert realm.refused("POST", "partialImport", overwritten, by=by) == FORBIDDEN
    realm.change("DELETE", client, by="everything")


@pytest.mark.parametrize("listed", ["default-client-scopes", "optional-client-scopes"])
def test_a_scope_with_more_roles_does_not_widen_a_token(
    realm: AdministeredRealm, management: str, listed: str
) -> None:
    """A default client scope would count for the tokens that the client has already."""
    fields = {"publicClient": True, "directAccessGrantsEnabled": True, "fullScopeAllowed": False}
    client = "clients/" + realm.change("POST", "clients", {"clientId": "limited", **fields})
    added = [
        "client-scopes/"
        + realm.change("POST", "client-scopes", {"name": name, "protocol": "openid-connect"})
        for name in ("wide", "narrow")
    ]
    for holder, name in zip(
        (*added, client), ("realm-admin", *["manage-clients"] * 2), strict=True
    ):
        mapped = [admin_role(realm, management, name)]
        realm.change("POST", f"{holder}/scope-mappings/clients/{management}", mapped)
    wide, narrow = (path.rpartition("/")[2] for path in added)
    form = {"grant_type": "password", "client_id": "limited", "username": "chief"}
    endpoint = f"/realms/{realm.name}/protocol/openid-connect/token"
    signed_in = realm.administration.http.post(endpoint, data=form | {"password": PASSWORD})
    token = signed_in.json()["access_token"]
    answers = [
        realm.administration.ask(method, f"{realm.name}/{path}", token).status_code
        for method, path in (
            ("GET", "clients"),
            ("PUT", f"{client}/{listed}/{wide}"),
            ("GET", "users"),
            ("PUT", f"{client}/{listed}/{narrow}"),
            ("GET", "users"),
        )
    ]
    assert answers == [200, 403, 403, 204, 403]
    realm.change("PUT", f"{client}/{listed}/{wide}")
    for path in (client, *added):
        realm.change("DELETE", path)


def test_a_limited_token_does_not_control_its_own_client(
    realm: AdministeredRealm,
) -> None:
    """The service account has more rights than the token: a new secret would give all of them."""
    before = realm.get("clients/narrowed-id")
    for method, path, document in (
        ("PUT", "", {"name": "x"}),
        ("POST", "/client-secret", None),
        ("GET", "/client-secret", None),
    ):
        sent = (method, f"clients/narrowed-id{path}", document)
        assert realm.refused(*sent, by="narrowed") == FORBIDDEN
    assert realm.get("clients/narrowed-id") == before
