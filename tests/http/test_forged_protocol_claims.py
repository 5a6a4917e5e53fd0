"""No protocol mapper sets a protocol claim, whatever name it is given and whatever is substituted.

A client role mapper with the claim name `${client_id}` and a hardcoded role `sub.<value>` made a
token with the subject `<value>`. Keycloak: protocol mappers; Spec: RFC 7662 §2.2, RFC 9068 §2.2
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from gateway.protocol.claims.mapper import ClaimsFor
from tests.support.spec_stack import Stack, protocol
from tests.support.tokens import claims_of
from tests.support.wire import PASSWORD, SECRET, audience, client, user

REALM = "forging"
OPTIONS = dict.fromkeys(map(str, ClaimsFor), "true")
FORGED: Mapping[str, object] = {
    "iss": "https://other",
    "sub": "another-user",
    "aud": ["bank"],
    "exp": 9_999_999_999,
    "nbf": 9_999_999_999,
    "iat": 9_999_999_999,
    "jti": "trrtcc:of-another",
    "typ": "ID",
    "azp": "automation",
    "sid": None,
    "scope": "openid everything",
    "cnf": {"x5t#S256": "another-key"},
    "acr": "9",
    "amr": ["hwk"],
    "auth_time": 1,
    "nonce": "n",
    "at_hash": "h",
    "session_state": "another-session",
    "allowed-origins": ["*"],
    "act": {"sub": "another-user"},
    "authorization": {"permissions": []},
    "events": {"http://schemas": {}},
    "active": False,
    "client_id": "automation",
    "username": "admin",
    "token_type": "DPoP",
    "jwt": "another-token",
    "access_token": "another-token",
    "refresh_token": "another-token",
    "expires_in": 9_999_999_999,
}
OF_INTROSPECTION = {"active", "username", "token_type", "jwt"}
"""Names that only an introspection response gives a meaning to."""
OF_THE_RESPONSE = {"access_token", "refresh_token", "expires_in", "token_type"}


def _mapper(name: str, kind: str, config: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": name,
        "protocol": "openid-connect",
        "protocolMapper": kind,
        "config": {**OPTIONS, **config},
    }


def substituted(name: str, value: object, claim: str = "${client_id}") -> list[dict[str, Any]]:
    """Return mappers that write a JSON value under a claim which a client id names."""
    role = f"{name}.{json.dumps(value)}"
    config = {
        "usermodel.clientRoleMapping.clientId": name,
        "claim.name": claim,
        "jsonType.label": "JSON",
    }
    return [
        _mapper(f"role {name}", "oidc-hardcoded-role-mapper", {"role": role}),
        _mapper(f"claim {name}", "oidc-usermodel-client-role-mapper", config),
    ]


def role_list(client_id: str, role: str, claim: str) -> list[dict[str, Any]]:
    """Return mappers that write a list of roles at a path which a client id completes."""
    config = {
        "usermodel.clientRoleMapping.clientId": client_id,
        "claim.name": claim,
        "multivalued": "true",
    }
    return [
        _mapper(f"r {client_id}", "oidc-hardcoded-role-mapper", {"role": f"{client_id}.{role}"}),
        _mapper(f"list {client_id}", "oidc-usermodel-client-role-mapper", config),
    ]


def every_forgery() -> list[dict[str, Any]]:
    return [mapper for name, value in FORGED.items() for mapper in substituted(name, value)]


def _in_answers_only() -> list[dict[str, Any]]:
    """Return the same mappers, which leave tokens alone."""
    options = {
        **dict.fromkeys(OPTIONS, "false"),
        ClaimsFor.USERINFO: "true",
        ClaimsFor.INTROSPECTION: "true",
    }
    return [one | {"config": {**one["config"], **options}} for one in every_forgery()]


def _account(client_id: str, holder: str, *roles: str) -> dict[str, Any]:
    return {
        "username": f"service-account-{client_id}",
        "serviceAccountClientId": client_id,
        "clientRoles": {holder: list(roles)} if holder else {},
    }


def _clients() -> list[dict[str, Any]]:
    own = {
        "directAccessGrantsEnabled": True,
        "webOrigins": ["https://app.test"],
        "defaultClientScopes": ["acr", "basic", "email", "profile", "web-origins"],
    }
    forging = [audience("watcher"), *every_forgery()]
    return [
        client("watcher"),
        client("automation"),
        client("plain", **own, protocolMappers=[audience("watcher")]),
        client("roles", directAccessGrantsEnabled=True),
        client("forging", **own, protocolMappers=forging),
        client("answering", **own, protocolMappers=[audience("watcher"), *_in_answers_only()]),
    ]


@dataclass(frozen=True, slots=True)
class Attacked:
    """A realm whose users may at most manage clients, and the stack that serves it."""

    stack: Stack
    name: str

    def ask(self, method: str, path: str, token: str, document: object = None) -> httpx2.Response:
        """Send a request below the realm's admin API."""
        url = f"{self.stack.nginx.https}/admin/realms/{self.name}{path}"
        headers = {"Authorization": f"Bearer {token}"}
        return self.stack.http.request(method, url, headers=headers, json=document)

    def tokens(self, client_id: str, scope: str = "openid") -> dict[str, Any]:
        """Return what `low` gets who signs in at a client."""
        form = {"grant_type": "password", "username": "low", "password": PASSWORD}
        caller = {"client_id": client_id, "client_secret": SECRET, "scope": scope}
        response = self.stack.token(self.name, form | caller)
        assert response.status_code == httpx2.codes.OK, response.text
        document: dict[str, Any] = response.json()
        return document

    def introspect(self, token: str, caller: str, **more: str) -> dict[str, Any]:
        """Introspect as a client."""
        form = {"client_id": caller, "client_secret": SECRET, "token": token, **more}
        url = f"{self.stack.nginx.https}{protocol(self.name)}/token/introspect"
        document: dict[str, Any] = self.stack.http.post(url, data=form).json()
        return document


@pytest.fixture(scope="module")
def realm(spec: Stack) -> Iterator[Attacked]:
    """Make a realm with an account of every right and a user who manages clients alone."""
    made = Attacked(spec, REALM)
    document = {
        "realm": REALM,
        "enabled": True,
        "defaultSignatureAlgorithm": "ES256",
        "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
        "users": [
            user("low", clientRoles={"realm-management": ["manage-clients"]}),
            _account("automation", "realm-management", "realm-admin"),
        ],
        "clients": _clients(),
    }
    url = f"{spec.nginx.https}/admin/realms"
    headers = {"Authorization": f"Bearer {spec.administrator()}"}
    response = spec.http.post(url, headers=headers, json=document)
    assert response.status_code == httpx2.codes.CREATED, response.text
    yield made
    made.ask("DELETE", "", spec.administrator())


@pytest.fixture(scope="module")
def master(spec: Stack) -> Iterator[Attacked]:
    """Give `master` a service account with the role `admin`, and a user who manages clients."""
    master = Attacked(spec, "master")
    document = {
        "ifResourceExists": "FAIL",
        "users": [
            user("low", clientRoles={"master-realm": ["manage-clients"]}),
            _account("automation", "") | {"realmRoles": ["admin"]},
        ],
        "clients": [client("automation")],
    }
    response = master.ask("POST", "/partialImport", spec.administrator(), document)
    assert response.status_code == httpx2.codes.OK, response.text
    yield master
    for kind, name in (("users", "username"), ("clients", "clientId")):
        for found in master.ask("GET", f"/{kind}", spec.administrator()).json():
            if found[name] in {"low", "automation", "attack"}:
                master.ask("DELETE", f"/{kind}/{found['id']}", spec.administrator())


def _attack(attacked: Attacked, spec: Stack) -> tuple[str, str]:
    """Make a client, as `low`, whose tokens name the service account of `automation`.

    Return the token before the mappers and the one after.
    """
    own = client("attack", directAccessGrantsEnabled=True)
    before = attacked.stack.token(
        attacked.name,
        {
            "grant_type": "password",
            "client_id": "admin-cli",
            "username": "low",
            "password": PASSWORD,
        },
    ).json()["access_token"]
    made = attacked.ask("POST", "/clients", before, own)
    assert made.status_code == httpx2.codes.CREATED, made.text
    path = "/clients/" + made.headers["location"].rpartition("/")[2]
    (automation,) = attacked.ask("GET", "/clients?clientId=automation", before).json()
    account = attacked.ask(
        "GET", f"/clients/{automation['id']}/service-account-user", spec.administrator()
    ).json()["id"]
    wanted = {"azp": "automation", "sub": account, "sid": None}
    mappers = [one for name, value in wanted.items() for one in substituted(name, value)]
    added = attacked.ask("POST", f"{path}/protocol-mappers/add-models", before, mappers)
    assert added.is_success, added.text
    return before, str(attacked.tokens("attack")["access_token"])


@pytest.mark.parametrize("which", ["realm", "master"])
def test_who_manages_clients_does_not_become_an_administrator(
    spec: Stack, which: str, request: pytest.FixtureRequest
) -> None:
    attacked: Attacked = request.getfixturevalue(which)
    before, after = _attack(attacked, spec)
    for path in ("/users", "/keys", "/events/config"):
        assert attacked.ask("GET", path, after).status_code == 403, path
    claims, own = claims_of(after), claims_of(before)
    assert (claims["azp"], claims["sub"]) == ("attack", _subject(attacked))
    assert claims["sid"] != own["sid"]
    assert attacked.ask("GET", "/clients", after).status_code == 200


def _subject(attacked: Attacked) -> str:
    (low,) = attacked.ask("GET", "/users?username=low", attacked.stack.administrator()).json()
    return str(low["id"])


def _protocol_claims(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the protocol decides of a token; which token it is does not matter here."""
    differing = {"exp", "iat", "jti", "sid", "azp", "at_hash", "session_state"}
    free = OF_INTROSPECTION | OF_THE_RESPONSE | {"client_id"}
    return {
        name: claims[name]
        for name in FORGED
        if name in claims and name not in differing and name not in free
    }


def test_access_id_and_refresh_tokens_say_what_was_decided(realm: Attacked) -> None:
    plain, forged = realm.tokens("plain"), realm.tokens("forging")
    for kind in ("access_token", "id_token", "refresh_token"):
        expected, found = claims_of(plain[kind]), claims_of(forged[kind])
        if kind == "id_token":
            expected["aud"] = "forging"
        assert _protocol_claims(found) == _protocol_claims(expected), kind
        assert found["azp"] == "forging"
        assert found["sid"] == forged["session_state"]
        assert found["jti"] != FORGED["jti"]
        assert found["iat"] <= expected["iat"] + 60
        assert found["exp"] < expected["exp"] + 60
        assert found.get("client_id", "forging") == "forging"
    assert claims_of(forged["id_token"])["at_hash"] != FORGED["at_hash"]
    assert "session_state" not in claims_of(forged["access_token"])


def test_the_token_response_says_what_was_issued(realm: Attacked) -> None:
    plain, forged = realm.tokens("plain"), realm.tokens("forging")
    for name in ("token_type", "expires_in", "scope"):
        assert forged[name] == plain[name]
    assert forged["access_token"].count(".") == 2
    assert not {"aud", "sub", "iss", "azp", "active"} & set(forged)


@pytest.mark.parametrize("client_id", ["forging", "answering"])
def test_an_introspection_response_says_what_the_token_says(
    realm: Attacked, client_id: str
) -> None:
    tokens = realm.tokens(client_id)
    answer = realm.introspect(tokens["access_token"], "watcher")
    claims = claims_of(tokens["access_token"])
    for name in FORGED.keys() - OF_INTROSPECTION - OF_THE_RESPONSE - {"client_id"}:
        assert answer.get(name) == claims.get(name), name
    assert (answer["active"], answer["token_type"]) == (True, "Bearer")
    assert (answer["client_id"], answer["username"]) == (client_id, "low")
    assert (answer["aud"], "cnf" in answer) == ("watcher", False)
    assert "jwt" not in answer


@pytest.mark.parametrize("client_id", ["forging", "answering"])
def test_introspection_reports_what_the_refresh_token_has(realm: Attacked, client_id: str) -> None:
    token = realm.tokens(client_id)["refresh_token"]
    answer = realm.introspect(token, client_id, token_type_hint="refresh_token")
    claims = claims_of(token)
    for name in ("iss", "sub", "exp", "iat", "jti", "azp", "sid", "scope", "cnf", "nbf"):
        assert answer.get(name) == claims.get(name), name
    assert answer["aud"] == [claims["iss"], "watcher"]
    assert (answer["active"], answer["typ"], answer["token_type"]) == (True, "Refresh", "Refresh")
    assert (answer["client_id"], answer["username"]) == (client_id, "low")


@pytest.mark.parametrize("client_id", ["forging", "answering"])
def test_userinfo_is_about_the_user_who_signed_in(realm: Attacked, client_id: str) -> None:
    token = realm.tokens(client_id)["access_token"]
    found = realm.stack.userinfo(token, REALM).json()
    assert found["sub"] == _subject(realm)
    free = OF_INTROSPECTION | OF_THE_RESPONSE | {"client_id"}
    assert {name for name in FORGED if name in found} - free == {"sub"}
    assert found.get("client_id", client_id) == client_id


@pytest.mark.parametrize(
    ("client_id", "claim"),
    [
        ("realm_access", "${client_id}.roles"),
        ("resource_access", "${client_id}.realm-management.roles"),
        ("roles", "realm_access.${client_id}"),
        ("resource_access", r"${client_id}.a\.b.roles"),
    ],
)
def test_a_client_id_leads_to_no_list_of_roles(realm: Attacked, client_id: str, claim: str) -> None:
    """The list of a realm's roles is written by mappers that name it, not by a client's name."""
    token = realm.stack.administrator()
    (found,) = realm.ask("GET", "/clients?clientId=roles", token).json()
    path = f"/clients/{found['id']}/protocol-mappers"
    mappers = role_list(client_id, "realm-admin", claim)
    added = realm.ask("POST", f"{path}/add-models", token, mappers)
    try:
        claims = claims_of(realm.tokens("roles")["access_token"])
        assert "realm-admin" not in claims.get("realm_access", {}).get("roles", [])
        assert "realm-management" not in claims["resource_access"] or (
            "realm-admin" not in claims["resource_access"]["realm-management"]["roles"]
        )
        assert set(claims["resource_access"].get(client_id, {"roles": 0})) == {"roles"}
    finally:
        if added.is_success:
            for one in realm.ask("GET", f"{path}/models", token).json():
                if one["name"].startswith(("r ", "list ")):
                    realm.ask("DELETE", f"{path}/models/{one['id']}", token)
