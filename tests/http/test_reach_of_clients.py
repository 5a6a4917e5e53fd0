"""Tokens carry administrative roles where an administrator with these decided on their client.

`lesser` may manage clients. `chief` is a user with every right over the realm, who signs in at
clients that `lesser` has made or changed: with those tokens `lesser` gets no rights of `chief`.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from gateway.admin.access.rights import AdminRole
from gateway.domain.clients import CHECKS, SETTING_ATTRIBUTES
from gateway.representations.clients import CLIENT_FIELDS
from gateway.representations.clients.client import HARMLESS_ATTRIBUTES, HARMLESS_FIELDS
from tests.support.administered_realm import (
    SIGN_IN,
    AdministeredRealm,
    administered_realm,
    person,
)
from tests.support.administration import ADMIN_PASSWORD, PASSWORD, SECRET, Administration
from tests.support.chains import CA, issue
from tests.support.client_policies import policies_of
from tests.support.registration import Registration
from tests.support.sign_in_browser import CALLBACK, SignInBrowser, web_client
from tests.support.wire import claims_of

ADMINISTRATORS = {
    "lesser": ["manage-clients"],
    "importer": ["manage-clients", "manage-realm"],
    "everything": ["realm-admin"],
}
OF_LESSER: Final = frozenset(
    {
        *("manage-clients", "create-client", "view-clients"),
        *("manage-authorization", "view-authorization"),
        *(role for role in AdminRole if role.startswith("query-")),
    }
)
"""What `lesser` may grant: the tokens of its clients carry no other administrative role."""
PUBLIC: Final[Mapping[str, Any]] = {
    "publicClient": True,
    "directAccessGrantsEnabled": True,
    "redirectUris": ["https://client.test/*"],
    "enabled": True,
}
CONFIDENTIAL: Final[Mapping[str, Any]] = {**PUBLIC, "publicClient": False, "secret": SECRET}
BUILT_IN: Final = ("security-admin-console", "account-console", "admin-cli", "account", "broker")
EVERY_ROLE: Final = {
    "name": "every role",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-hardcoded-role-mapper",
    "config": {"role": "realm-management.realm-admin"},
}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm whose `chief` has every right, once by a composite role."""
    everything = {"client": {"realm-management": ["manage-users"]}}
    chief = person(
        "chief",
        email="chief@reach.test",
        firstName="C",
        lastName="C",
        realmRoles=["default-roles-of-client-reach", "plain", "outer"],
        clientRoles={"realm-management": ["realm-admin"]},
    )
    worker = person("worker", realmRoles=["default-roles-of-client-reach", "plain"])
    with administered_realm(
        administration,
        "of-client-reach",
        ADMINISTRATORS,
        **{
            **SIGN_IN,
            "roles": {
                "realm": [
                    {"name": "plain"},
                    {"name": "inner", "composites": everything},
                    {"name": "outer", "composites": {"realm": ["inner"]}},
                ]
            },
            "users": [chief, worker],
        },
    ) as made:
        made.change("POST", "client-scopes", {"name": "spare", "protocol": "openid-connect"})
        yield made


@pytest.fixture
def approved(realm: AdministeredRealm) -> Iterator[str]:
    """Make a confidential client that may carry everything; return its path."""
    made = realm.change("POST", "clients", {"clientId": "approved", **CONFIDENTIAL})
    yield f"clients/{made}"
    realm.ask("DELETE", f"clients/{made}")


def token_request(realm: AdministeredRealm, form: Mapping[str, str]) -> httpx2.Response:
    url = f"/realms/{realm.name}/protocol/openid-connect/token"
    return realm.administration.http.post(url, data=dict(form))


def tokens(realm: AdministeredRealm, client_id: str, username: str = "chief") -> dict[str, Any]:
    """Return the tokens of a user who signs in at the client."""
    form = {"grant_type": "password", "client_id": client_id, "client_secret": SECRET}
    form |= {"username": username, "password": PASSWORD, "scope": "openid"}
    answer = token_request(realm, form)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def carried(document: str | Mapping[str, Any]) -> set[str]:
    """Return the administrative roles, and composites of them, in a token or a document."""
    claims = claims_of(document) if isinstance(document, str) else document
    of_clients = claims.get("resource_access", {})
    named = {*of_clients.get("realm-management", {}).get("roles", ())}
    composites = {"inner", "outer"} & {*claims.get("realm_access", {}).get("roles", ())}
    return named | composites


def opens(realm: AdministeredRealm, token: str) -> bool:
    """Return whether the admin API lists users, which `lesser` may not see."""
    answer = realm.administration.ask("GET", f"{realm.name}/users", token)
    assert answer.status_code in {200, 403}, answer.text
    return answer.status_code == 200 and bool(answer.json())


def reach(realm: AdministeredRealm, path: str) -> Any:
    return realm.get(f"{path}/administrative-roles")


def change_account(realm: AdministeredRealm, token: str) -> int:
    http = realm.administration.http
    url = f"/realms/{realm.name}/account"
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    sent = {"username": "chief", "email": "chief@reach.test", "firstName": "C", "lastName": "C"}
    return http.post(url, headers=headers, json=sent).status_code


def test_a_lesser_administrators_client_carries_no_greater_role(
    realm: AdministeredRealm,
) -> None:
    made = realm.change("POST", "clients", {"clientId": "collector", **PUBLIC}, by="lesser")
    of_chief = tokens(realm, "collector")
    access = of_chief["access_token"]
    assert carried(access) <= OF_LESSER
    assert "plain" in claims_of(access)["realm_access"]["roles"]
    assert not opens(realm, access)
    renewed = token_request(
        realm,
        {
            "grant_type": "refresh_token",
            "client_id": "collector",
            "refresh_token": of_chief["refresh_token"],
        },
    ).json()["access_token"]
    assert carried(renewed) <= OF_LESSER
    assert not opens(realm, renewed)
    assert change_account(realm, access) == 403
    of_worker = claims_of(tokens(realm, "collector", "worker")["access_token"])
    assert "plain" in of_worker["realm_access"]["roles"]
    assert "manage-account" in of_worker["resource_access"]["account"]["roles"]
    realm.change("DELETE", f"clients/{made}")


def audience(client_id: str) -> dict[str, Any]:
    """Return a mapper that adds a client to the audience."""
    return {
        "name": f"for {client_id}",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-audience-mapper",
        "config": {"included.client.audience": client_id, "access.token.claim": "true"},
    }


def narrow_client(realm: AdministeredRealm, **document: Any) -> str:
    """Make a client of `lesser` whose only scope mappings are roles of `account`."""
    account = realm.get("clients?clientId=account")[0]["id"]
    made = realm.change(
        "POST", "clients", {"clientId": "narrow", **CONFIDENTIAL, **document}, by="lesser"
    )
    role = realm.get(f"clients/{account}/roles/manage-account")
    mappings = f"clients/{made}/scope-mappings/clients/{account}"
    realm.change("POST", mappings, [role], by="lesser")
    return f"clients/{made}"


def test_a_narrow_scope_opens_no_account_of_an_administrator(realm: AdministeredRealm) -> None:
    path = narrow_client(realm, fullScopeAllowed=False)
    access = tokens(realm, "narrow")["access_token"]
    assert change_account(realm, access) in {401, 403}
    of_worker = claims_of(tokens(realm, "narrow", "worker")["access_token"])
    assert "manage-account" in of_worker["resource_access"]["account"]["roles"]
    realm.change("DELETE", path)


def test_a_scope_for_administrators_is_withheld_with_their_roles(
    realm: AdministeredRealm, approved: str
) -> None:
    """Token and introspection agree on it."""
    document = {"name": "for-chiefs", "protocol": "openid-connect"}
    scope = realm.change("POST", "client-scopes", document)
    management = realm.admin_roles("everything")["id"]
    above = realm.get(f"clients/{management}/roles/manage-users")
    realm.change("POST", f"client-scopes/{scope}/scope-mappings/clients/{management}", [above])
    url = f"/realms/{realm.name}/protocol/openid-connect/token/introspect"
    for path, carries in ((approved, True), (narrow_client(realm), False)):
        mapper = audience("approved" if carries else "narrow")
        realm.change("POST", f"{path}/protocol-mappers/models", mapper, by="lesser")
        realm.change("PUT", f"{path}/default-client-scopes/{scope}", by="lesser")
        if carries:
            realm.change("PUT", f"{path}/administrative-roles")
        client_id = realm.get(path)["clientId"]
        access = tokens(realm, client_id)["access_token"]
        form = {"client_id": client_id, "client_secret": SECRET, "token": access}
        shown = realm.administration.http.post(url, data=form).json()
        for claims in (claims_of(access), shown):
            assert ("for-chiefs" in claims["scope"].split()) is carries
    realm.change("DELETE", path)
    realm.change("DELETE", f"client-scopes/{scope}")


def test_a_narrow_audience_opens_no_account_of_an_administrator(
    realm: AdministeredRealm, approved: str
) -> None:
    path = narrow_client(realm, attributes={"standard.token.exchange.enabled": "true"})
    realm.change("PUT", approved, {"protocolMappers": [audience("narrow")]})
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": tokens(realm, "approved")["access_token"],
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "audience": "account",
        "client_id": "narrow",
        "client_secret": SECRET,
    }
    answer = token_request(realm, form)
    assert answer.status_code == 200, answer.text
    assert change_account(realm, answer.json()["access_token"]) == 403
    realm.change("DELETE", path)


def test_one_link_brings_no_roles_of_a_signed_in_administrator(
    realm: AdministeredRealm, approved: str
) -> None:
    redirects = {"redirectUris": [CALLBACK]}
    realm.change("PUT", approved, redirects)
    made = realm.change("POST", "clients", {**web_client("app"), **redirects}, by="lesser")
    with realm.administration.gateway.client(**{"X-Forwarded-For": "203.0.113.9"}) as http:
        browser = SignInBrowser(http, realm.name)
        first = browser.submit(browser.open("approved"), username="chief", password=PASSWORD)
        access = browser.redeem(first.answer["code"], "approved").json()["access_token"]
        assert opens(realm, access)
        page = browser.open("app")
        access = browser.redeem(page.answer["code"], "app").json()["access_token"]
    assert carried(access) <= OF_LESSER
    assert not opens(realm, access)
    realm.change("DELETE", f"clients/{made}")


def test_an_equal_administrators_client_carries_every_role(
    realm: AdministeredRealm, approved: str
) -> None:
    access = tokens(realm, "approved")["access_token"]
    assert {"realm-admin", "manage-users", "inner", "outer"} <= carried(access)
    assert opens(realm, access)
    assert change_account(realm, access) == 204
    assert reach(realm, approved) == {"all": True, "roles": []}


def test_an_equal_administrator_approves_a_client(realm: AdministeredRealm) -> None:
    made = realm.change("POST", "clients", {"clientId": "examined", **PUBLIC}, by="lesser")
    path = f"clients/{made}"
    shown = reach(realm, path)
    assert not shown["all"]
    assert {name.removeprefix("realm-management/") for name in shown["roles"]} == OF_LESSER
    realm.change("PUT", path, {"description": "by everything"}, by="everything")
    realm.change("PUT", path, realm.get(path), by="everything")
    assert not opens(realm, tokens(realm, "examined")["access_token"])
    realm.change("PUT", f"{path}/administrative-roles", by="everything")
    assert opens(realm, tokens(realm, "examined")["access_token"])
    realm.change("PUT", f"{path}/administrative-roles", by="lesser")
    assert not opens(realm, tokens(realm, "examined")["access_token"])
    realm.change("PUT", path, {"redirectUris": ["https://examined.test/*"]}, by="everything")
    assert opens(realm, tokens(realm, "examined")["access_token"])
    realm.change("DELETE", path)


def test_an_approval_may_say_what_was_examined(realm: AdministeredRealm) -> None:
    """By the tag of the client, or of its roles: a client that changed since is not approved."""
    made = realm.change("POST", "clients", {"clientId": "examined", **PUBLIC}, by="lesser")
    path = f"clients/{made}"
    roles = f"{path}/administrative-roles"
    for examined in (path, roles):
        tag = realm.ask("GET", examined).headers["etag"]
        realm.change("PUT", path, {"redirectUris": [f"https://{tag[1:9]}.test/*"]}, by="lesser")
        for stale in (tag, '"another"', f"W/{tag}"):
            assert realm.ask("PUT", roles, by="everything", If_Match=stale).status_code == 412
        assert not reach(realm, path)["all"], examined
        tag = realm.ask("GET", examined).headers["etag"]
        answer = realm.ask("PUT", roles, by="everything", If_Match=tag)
        assert (answer.status_code, answer.json()["all"]) == (200, True), examined
        assert realm.ask("PUT", roles, by="lesser", If_Match="*").status_code == 200
    tag = realm.ask("GET", roles).headers["etag"]
    assert realm.ask("PUT", roles, by="everything").headers["etag"] != tag
    assert realm.ask("PUT", roles, by="lesser", If_Match=tag).status_code == 412
    realm.change("DELETE", path)


def test_the_command_says_which_roles_tokens_may_carry(realm: AdministeredRealm) -> None:
    """A limited client stays limited until the operator approves it."""
    made = realm.change("POST", "clients", {"clientId": "examined", **PUBLIC}, by="lesser")
    path = f"clients/{made}"

    def update(*arguments: str) -> str:
        at = ("client", "update", "examined", "--realm", realm.name)
        done = realm.administration.command(*at, *arguments)
        assert done.exit_code == 0, done.output
        return str(done.output)

    everything = "client examined: its tokens may carry all administrative roles of its users\n"
    limited = reach(realm, path)
    for fields in ('redirectUris=["https://a.test/cb"]', "fullScopeAllowed=true", "name=Shop"):
        said = update("--set", fields)
        assert f"its tokens may carry the administrative roles {limited['roles'][0]}" in said
        assert said.endswith("of its users; --approve-reach permits all\n")
        assert reach(realm, path) == limited, fields
    assert update("--approve-reach").endswith(everything)
    assert reach(realm, path) == {"all": True, "roles": []}
    assert update("--set", 'redirectUris=["https://b.test/cb"]').endswith(everything)
    assert update("--set", "name=Store") == "client examined: updated\n"
    assert reach(realm, path) == {"all": True, "roles": []}
    realm.change("PUT", path, {"redirectUris": ["https://c.test/*"]}, by="lesser")
    both = ("--set", 'redirectUris=["https://d.test/cb"]', "--approve-reach")
    assert update(*both).endswith(everything)
    realm.change("DELETE", path)


def test_events_say_which_roles_tokens_may_carry(realm: AdministeredRealm) -> None:
    realm.change(
        "PUT", "events/config", {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True}
    )
    made = realm.change("POST", "clients", {"clientId": "examined", **PUBLIC}, by="lesser")
    path = f"clients/{made}"
    realm.change("PUT", path, {"name": "harmless"}, by="everything")
    realm.change("PUT", path, {"redirectUris": ["https://a.test/*"]}, by="everything")
    realm.change("PUT", path, {"redirectUris": ["https://b.test/*"]}, by="lesser")
    recorded = [
        shown["all"]
        for operation, _, at, shown in realm.events()
        if at == f"{path}/administrative-roles" and operation == "UPDATE"
    ]
    assert recorded == [True, False]
    realm.change("DELETE", path)


@pytest.mark.usefixtures("approved")
def test_an_event_names_the_roles_that_a_token_lacks(realm: AdministeredRealm) -> None:
    """Of a limited client alone, at sign-in and refresh; a bounded list."""
    types = {"enabledEventTypes": ["LOGIN", "REFRESH_TOKEN"]}
    realm.change("PUT", "events/config", {"eventsEnabled": True, **types})
    path = narrow_client(realm)
    issued = tokens(realm, "narrow")
    tokens(realm, "approved")
    form = {"grant_type": "refresh_token", "refresh_token": issued["refresh_token"]}
    again = {"client_id": "narrow", "client_secret": SECRET}
    assert token_request(realm, form | again).status_code == 200
    found: dict[str, list[str | None]] = {}
    for event in realm.get("events?max=20"):
        details = event["details"]
        found.setdefault(event["clientId"], []).append(details.get("withheld_roles"))
    assert found["approved"] == [None]
    assert len(found["narrow"]) == 2
    for withheld in found["narrow"]:
        assert withheld is not None
        named, _, more = withheld.partition(" and ")
        assert len(named.split(", ")) == 10
        assert more.endswith(" more")
        assert "realm-management/" in named
    realm.change("PUT", "events/config", {"eventsEnabled": False})
    realm.change("DELETE", path)


def test_a_token_loses_roles_with_the_reach_of_its_client(
    realm: AdministeredRealm, approved: str
) -> None:
    issued = tokens(realm, "approved")
    access = issued["access_token"]
    assert opens(realm, access)
    realm.change("PUT", approved, {"redirectUris": ["https://evil.test/*"]}, by="lesser")
    assert not opens(realm, access)
    own = {"client_id": "approved", "client_secret": SECRET}
    url = f"/realms/{realm.name}/protocol/openid-connect"
    http = realm.administration.http
    introspected = http.post(f"{url}/token/introspect", data={**own, "token": access}).json()
    assert not introspected["active"] or carried(introspected) <= OF_LESSER
    renewed = token_request(
        realm,
        {**own, "grant_type": "refresh_token", "refresh_token": issued["refresh_token"]},
    ).json()["access_token"]
    assert carried(renewed) <= OF_LESSER
    assert change_account(realm, access) == 403


def _ways(realm: AdministeredRealm, client: str) -> list[tuple[str, str, Any]]:
    """Return changes of parts of a client, each of which is part of its reach."""
    scopes = {one["name"]: one["id"] for one in realm.get("client-scopes")}
    management = realm.admin_roles("everything")["id"]
    manage_users = realm.get(f"clients/{management}/roles/manage-users")
    return [
        ("POST", f"{client}/client-secret", None),
        ("POST", f"{client}/protocol-mappers/models", EVERY_ROLE),
        ("POST", f"{client}/protocol-mappers/add-models", [EVERY_ROLE]),
        ("PUT", f"{client}/default-client-scopes/{scopes['spare']}", None),
        ("PUT", f"{client}/optional-client-scopes/{scopes['spare']}", None),
        ("DELETE", f"{client}/default-client-scopes/{scopes['email']}", None),
        ("POST", f"{client}/scope-mappings/clients/{management}", [manage_users]),
        ("POST", f"{client}/certificates/jwt.credential/generate", None),
    ]


def test_changes_of_parts_of_a_client_take_roles_away(
    realm: AdministeredRealm,
) -> None:
    for place in range(len(_ways(realm, ""))):
        made = realm.change("POST", "clients", {"clientId": "approved", **CONFIDENTIAL})
        path = f"clients/{made}"
        method, at, document = _ways(realm, path)[place]
        realm.change(method, at, document, by="everything")
        realm.change("PUT", f"{path}/administrative-roles")
        assert reach(realm, path)["all"]
        realm.change("DELETE", path)
        made = realm.change("POST", "clients", {"clientId": "approved", **CONFIDENTIAL})
        path = f"clients/{made}"
        method, at, document = _ways(realm, path)[place]
        realm.change(method, at, document, by="lesser")
        assert not reach(realm, path)["all"], at
        realm.change("PUT", path, {"secret": SECRET}, by="lesser")
        issued = tokens(realm, "approved")["access_token"]
        assert carried(issued) <= OF_LESSER, at
        assert not opens(realm, issued), at
        realm.change("DELETE", path)


def test_an_authority_of_a_client_takes_roles_away(realm: AdministeredRealm, approved: str) -> None:
    path = f"{approved}/certificates/authorities"
    sent = {"certificate": issue("root of a client", None, CA).pem}
    made = realm.change("POST", path, sent)
    assert reach(realm, approved)["all"]
    realm.change("DELETE", f"{path}/{made}", by="lesser")
    assert not reach(realm, approved)["all"]
    realm.change("PUT", f"{approved}/administrative-roles")
    realm.change("POST", path, sent, by="lesser")
    assert not opens(realm, tokens(realm, "approved")["access_token"])


def test_a_part_that_an_equal_changes_approves_nothing(
    realm: AdministeredRealm,
) -> None:
    made = realm.change("POST", "clients", {"clientId": "approved", **CONFIDENTIAL}, by="lesser")
    for method, at, document in _ways(realm, f"clients/{made}"):
        if "add-models" not in at:
            realm.change(method, at, document)
        assert not reach(realm, f"clients/{made}")["all"], at
    realm.change("DELETE", f"clients/{made}")


@pytest.mark.parametrize("client_id", BUILT_IN)
def test_the_reach_of_built_in_clients_needs_every_right(
    realm: AdministeredRealm, client_id: str
) -> None:
    path = f"clients/{realm.get(f'clients?clientId={client_id}')[0]['id']}"
    before = realm.get(path)
    documents: list[dict[str, Any]] = [
        {"redirectUris": ["https://evil.test/*"]},
        {"webOrigins": ["https://evil.test"]},
        {"rootUrl": "https://evil.test"},
        {"attributes": {"post.logout.redirect.uris": "https://evil.test/*"}},
        {"attributes": {"oauth2.device.authorization.grant.enabled": "true"}},
        {"attributes": {"backchannel.logout.url": "https://evil.test"}},
        {"fullScopeAllowed": not before["fullScopeAllowed"]},
        {"clientId": "renamed"},
        {**before, "redirectUris": ["https://evil.test/*"]},
    ]
    for document in documents:
        assert realm.refused("PUT", path, document, by="lesser")[0] == 403, document
    for method, at, document in _ways(realm, path):
        answer = realm.ask(method, at, document, by="lesser")
        assert answer.status_code == 403, (at, answer.text)
    assert realm.get(path) == before
    assert reach(realm, path)["all"]
    realm.change("PUT", path, {"description": "by lesser"}, by="lesser")
    realm.change("PUT", path, {"description": before.get("description") or ""})


@pytest.mark.parametrize("client_id", BUILT_IN)
def test_only_every_right_ends_the_use_of_a_built_in_client(
    realm: AdministeredRealm, client_id: str
) -> None:
    """Administrators with more rights sign in to it."""
    path = f"clients/{realm.get(f'clients?clientId={client_id}')[0]['id']}"
    for document in ({"enabled": False}, {"notBefore": 2_000_000_000}):
        assert realm.refused("PUT", path, document, by="lesser")[0] == 403, document
    after = realm.get(path)
    assert (after["enabled"], after["notBefore"]) == (True, 0)
    realm.change("PUT", path, {"enabled": False})
    assert realm.refused("PUT", path, {"enabled": True}, by="lesser")[0] == 403
    realm.change("PUT", path, {"enabled": True})


def test_a_client_that_is_enabled_again_carries_no_more_roles(
    realm: AdministeredRealm, approved: str
) -> None:
    """A lesser administrator accepts no tokens again that a superior has refused."""
    access = tokens(realm, "approved")["access_token"]
    realm.change("PUT", approved, {"enabled": False})
    realm.change("PUT", approved, {"enabled": True}, by="lesser")
    assert not opens(realm, access)
    assert carried(tokens(realm, "approved")["access_token"]) <= OF_LESSER
    limited = reach(realm, approved)
    realm.change("PUT", approved, {"enabled": False}, by="lesser")
    realm.change("PUT", approved, {"enabled": True})
    assert reach(realm, approved) == limited


def test_a_built_in_clients_registration_token_keeps_its_reach(
    realm: AdministeredRealm,
) -> None:
    service = Registration(realm)
    console = realm.get("clients?clientId=security-admin-console")[0]
    path = f"clients/{console['id']}"
    made = realm.ask("POST", f"{path}/registration-access-token", by="lesser").json()
    sent = {**console, "redirectUris": ["https://evil.test/*"]}
    sent.pop("access")
    refused = service.refused(
        "PUT", "default/security-admin-console", sent, token=made["registrationAccessToken"]
    )
    assert refused[0] == 403
    assert realm.get(path)["redirectUris"] == console["redirectUris"]


def test_a_registration_token_decides_on_no_role(realm: AdministeredRealm, approved: str) -> None:
    service = Registration(realm)
    made = realm.ask("POST", f"{approved}/registration-access-token", by="lesser").json()
    shown = {**realm.get(approved), "secret": SECRET}
    shown.pop("access")
    own = made["registrationAccessToken"]
    same = {**shown, "name": "its own name"}
    own = service.given("PUT", "default/approved", same, token=own)["registrationAccessToken"]
    assert reach(realm, approved)["all"]
    sent = {**same, "redirectUris": ["https://evil.test/*"]}
    service.given("PUT", "default/approved", sent, token=own)
    assert reach(realm, approved) == {"all": False, "roles": []}
    issued = tokens(realm, "approved")["access_token"]
    assert carried(issued) == set()
    assert not opens(realm, issued)


def test_a_client_that_registers_itself_carries_no_role(realm: AdministeredRealm) -> None:
    service = Registration(realm)
    sent = {"clientId": "registered", **CONFIDENTIAL}
    stated = {"attributes": {"realmgate.administrative.roles": '["realm-management/view-users"]'}}
    made = service.given("POST", "default", {**sent, **stated}, token=service.initial())
    assert reach(realm, f"clients/{made['id']}") == {"all": False, "roles": []}
    assert "realmgate.administrative.roles" not in made["attributes"]
    issued = tokens(realm, "registered")["access_token"]
    assert carried(issued) == set()
    assert not opens(realm, issued)
    realm.change("DELETE", f"clients/{made['id']}")


def test_a_client_scope_that_is_changed_takes_roles_away(
    realm: AdministeredRealm, approved: str
) -> None:
    made = realm.change("POST", "client-scopes", {"name": "extra", "protocol": "openid-connect"})
    scope = f"client-scopes/{made}"
    realm.change("PUT", f"{approved}/optional-client-scopes/{made}")
    management = realm.admin_roles("everything")["id"]
    above = realm.get(f"clients/{management}/roles/manage-users")
    changes: list[tuple[str, str, Any]] = [
        ("POST", f"{scope}/protocol-mappers/models", EVERY_ROLE),
        ("POST", f"{scope}/scope-mappings/clients/{management}", [above]),
        ("PUT", scope, {"name": "renamed", "protocol": "openid-connect"}),
        ("PUT", scope, {"attributes": {"display.on.consent.screen": "false"}}),
    ]
    for method, at, document in changes:
        assert reach(realm, approved)["all"]
        realm.change(method, at, document, by="lesser")
        assert not reach(realm, approved)["all"], at
        realm.change("PUT", f"{approved}/administrative-roles")
    realm.change("PUT", scope, {"description": "by lesser"}, by="lesser")
    assert reach(realm, approved)["all"]
    realm.change("DELETE", scope)


def test_client_scopes_of_built_in_clients_need_every_right(realm: AdministeredRealm) -> None:
    scope = next(one for one in realm.get("client-scopes") if one["name"] == "profile")
    path = f"client-scopes/{scope['id']}"
    management = realm.admin_roles("everything")["id"]
    above = realm.get(f"clients/{management}/roles/manage-users")
    mapper = f"{path}/protocol-mappers/models/{scope['protocolMappers'][0]['id']}"
    changes: list[tuple[str, str, Any]] = [
        ("POST", f"{path}/protocol-mappers/models", EVERY_ROLE),
        ("DELETE", mapper, None),
        ("POST", f"{path}/scope-mappings/clients/{management}", [above]),
        ("PUT", path, {"name": "taken"}),
        ("DELETE", path, None),
    ]
    for method, at, document in changes:
        assert realm.refused(method, at, document, by="lesser")[0] == 403, at
    after = next(one for one in realm.get("client-scopes") if one["name"] == "profile")
    assert after == scope


def test_an_import_is_a_decision_of_its_caller(realm: AdministeredRealm) -> None:
    document = {
        "ifResourceExists": "OVERWRITE",
        "clients": [{"clientId": "imported", **PUBLIC}],
    }
    path = "clients?clientId=imported"
    for by, whole in (("importer", False), ("everything", True), ("importer", False)):
        realm.change("POST", "partialImport", document, by=by)
        found = f"clients/{realm.get(path)[0]['id']}"
        assert reach(realm, found)["all"] is whole
        assert opens(realm, tokens(realm, "imported")["access_token"]) is whole
    realm.change("DELETE", found)


def test_an_import_changes_no_built_in_client(realm: AdministeredRealm) -> None:
    for client_id in BUILT_IN:
        path = f"clients?clientId={client_id}"
        before = realm.get(path)
        document = {
            "ifResourceExists": "OVERWRITE",
            "clients": [{"clientId": client_id, "redirectUris": ["https://evil.test/*"]}],
        }
        realm.ask("POST", "partialImport", document, by="importer")
        assert realm.get(path) == before


def test_an_export_states_the_reach_for_the_next_import(
    realm: AdministeredRealm, tmp_path: Path
) -> None:
    made = realm.change("POST", "clients", {"clientId": "stated", **PUBLIC}, by="lesser")
    whole = realm.ask("POST", "partial-export?exportClients=true").json()
    clients = {one["clientId"]: one for one in whole["clients"]}
    stated = clients["stated"]["attributes"]["realmgate.administrative.roles"]
    assert "realm-management/manage-clients" in json.loads(stated)
    assert all(
        "realmgate.administrative.roles" not in one["attributes"]
        for name, one in clients.items()
        if name in BUILT_IN
    )
    assert "realmgate.administrative.roles" not in realm.get(f"clients/{made}")["attributes"]
    file = tmp_path / "realm.json"
    for one, carries in ((clients["stated"], False), ({"clientId": "stated"}, True)):
        file.write_text(json.dumps({"realm": realm.name, "clients": [one]}))
        imported = realm.administration.command("realm", "import", str(file))
        assert imported.exit_code == 0, imported.output
        assert reach(realm, f"clients/{made}")["all"] is carries
    realm.change("DELETE", f"clients/{made}")
    for by, carries in (("everything", False), ("lesser", False)):
        again = realm.change("POST", "clients", clients["stated"], by=by)
        assert reach(realm, f"clients/{again}")["all"] is carries
        realm.change("DELETE", f"clients/{again}")


@pytest.mark.parametrize("sent", ["*", '["*"]', "all", "true", '{"all":true}', "[1]", "[[]]"])
def test_a_lesser_administrator_states_no_reach(realm: AdministeredRealm, sent: str) -> None:
    attributes = {"realmgate.administrative.roles": sent}
    document = {"clientId": "stating", **PUBLIC, "attributes": attributes}
    path = f"clients/{realm.change('POST', 'clients', document, by='lesser')}"
    realm.change("PUT", path, document, by="lesser")
    assert not reach(realm, path)["all"]
    assert {name.removeprefix("realm-management/") for name in reach(realm, path)["roles"]} <= (
        OF_LESSER
    )
    assert not opens(realm, tokens(realm, "stating")["access_token"])
    realm.change("DELETE", path)


def test_settings_of_a_policy_count_as_changes_of_the_caller(
    realm: AdministeredRealm, approved: str
) -> None:
    with policies_of(realm, {"full-scope-disabled": {"auto-configure": True}}):
        realm.change("PUT", approved, {"description": "by lesser"}, by="lesser")
    assert not realm.get(approved)["fullScopeAllowed"]
    assert not reach(realm, approved)["all"]


def test_an_exchange_brings_back_no_role(realm: AdministeredRealm, approved: str) -> None:
    exchange = {"standard.token.exchange.enabled": "true"}
    refreshes = {"standard.token.exchange.enableRefreshRequestedTokenType": "SAME_SESSION"}
    realm.change("PUT", approved, {"attributes": {**exchange, **refreshes}})
    as_jwt = {"client.introspection.response.allow.jwt.claim.enabled": "true"}
    attributes = exchange | as_jwt
    further = realm.change(
        "POST", "clients", {"clientId": "further", **CONFIDENTIAL, "attributes": attributes}
    )
    audiences = [audience(name) for name in ("approved", "further")]
    realm.change("PUT", approved, {"protocolMappers": audiences[1:]})
    made = realm.change(
        "POST",
        "clients",
        {"clientId": "collector", **PUBLIC, "protocolMappers": audiences},
        by="lesser",
    )
    assert reach(realm, approved)["all"]
    assert opens(realm, tokens(realm, "approved")["access_token"])

    def exchanged(by: str, subject: str, **form: str) -> dict[str, Any]:
        grant = "urn:ietf:params:oauth:grant-type:token-exchange"
        kind = "urn:ietf:params:oauth:token-type:access_token"
        form |= {"grant_type": grant, "subject_token": subject, "subject_token_type": kind}
        form |= {"client_id": by, "client_secret": SECRET}
        answer = token_request(realm, form)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    collected = tokens(realm, "collector")["access_token"]
    kind = "urn:ietf:params:oauth:token-type:refresh_token"
    first = exchanged("approved", collected, requested_token_type=kind)
    own = {"client_id": "approved", "client_secret": SECRET}
    renewed = token_request(
        realm, {**own, "grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    ).json()
    chain = [first, renewed, exchanged("further", renewed["access_token"])]
    url = f"/realms/{realm.name}/protocol/openid-connect/token/introspect"
    for each in (first, renewed):
        data = {"client_id": "further", "client_secret": SECRET, "token": each["access_token"]}
        accept = {"Accept": "application/jwt"}
        answer = realm.administration.http.post(url, data=data, headers=accept)
        chain.append({"access_token": answer.json()["jwt"]})
    for each in chain:
        assert carried(each["access_token"]) == set()
        assert not opens(realm, each["access_token"])
        assert change_account(realm, each["access_token"]) in {401, 403}
    data = {**own, "token": renewed["access_token"]}
    introspected = realm.administration.http.post(url, data=data).json()
    assert introspected["active"] is False or carried(introspected) == set()
    direct = exchanged("further", tokens(realm, "approved")["access_token"])
    assert opens(realm, direct["access_token"])
    for one in (made, further):
        realm.change("DELETE", f"clients/{one}")


def test_a_service_account_keeps_the_roles_that_it_was_given(realm: AdministeredRealm) -> None:
    document = {"clientId": "robot", **CONFIDENTIAL, "serviceAccountsEnabled": True}
    made = realm.change("POST", "clients", document, by="lesser")
    account = realm.get(f"clients/{made}/service-account-user")["id"]
    management = realm.admin_roles("everything")["id"]
    role = realm.get(f"clients/{management}/roles/view-users")
    realm.change("POST", f"users/{account}/role-mappings/clients/{management}", [role])
    assert opens(realm, realm.administration.fresh_token("robot", realm.name))
    path = f"clients/{made}"
    for method, at, sent in (
        ("POST", f"{path}/client-secret", None),
        ("PUT", path, {"redirectUris": ["https://evil.test/*"]}),
        ("PUT", f"{path}/administrative-roles", None),
    ):
        assert realm.refused(method, at, sent, by="lesser")[0] == 403
    assert not opens(realm, tokens(realm, "robot")["access_token"])
    realm.change("DELETE", path)


VALUES: Final[Mapping[str, Any]] = {
    "clientId": "renamed",
    "rootUrl": "https://evil.test",
    "adminUrl": "https://evil.test",
    "baseUrl": "https://evil.test",
    "clientAuthenticatorType": "client-jwt",
    "secret": "another",
    "redirectUris": ["https://evil.test/*"],
    "webOrigins": ["https://evil.test"],
    "bearerOnly": True,
    "consentRequired": True,
    "standardFlowEnabled": False,
    "implicitFlowEnabled": True,
    "directAccessGrantsEnabled": False,
    "serviceAccountsEnabled": True,
    "authorizationServicesEnabled": True,
    "publicClient": True,
    "frontchannelLogout": True,
    "protocol": "saml",
    "authenticationFlowBindingOverrides": {"browser": "{browser}"},
    "fullScopeAllowed": False,
    "protocolMappers": [EVERY_ROLE],
    "defaultClientScopes": ["phone"],
    "optionalClientScopes": ["profile"],
}
"""Another value for each member that is part of the reach."""
NO_EFFECT: Final = frozenset({"defaultClientScopes", "optionalClientScopes"})
"""Members that a change of a client ignores."""
NOT_CHANGED: Final = frozenset({"id", "attributes"})
"""The id never changes; attributes are judged one by one."""


def test_every_member_of_a_client_is_judged(realm: AdministeredRealm) -> None:
    names = {*CLIENT_FIELDS.shapes, "secret"}
    assert names - NOT_CHANGED - HARMLESS_FIELDS.keys() == VALUES.keys()
    flow = next(one["id"] for one in realm.get("authentication/flows") if one["alias"] == "browser")
    for name in sorted(names - NOT_CHANGED - HARMLESS_FIELDS.keys()):
        value = VALUES[name]
        if isinstance(value, dict):
            value = {key: text.replace("{browser}", flow) for key, text in value.items()}
        path = f"clients/{realm.change('POST', 'clients', {'clientId': 'judged', **CONFIDENTIAL})}"
        before = realm.get(path)
        answer = realm.ask("PUT", path, {name: value}, by="lesser")
        changed = realm.get(path) != before
        if answer.status_code == 403:
            assert not changed, name
        else:
            assert changed is (name not in NO_EFFECT), (name, answer.text)
        assert reach(realm, path)["all"] is not changed, name
        realm.change("DELETE", path)


CANDIDATES: Final = (
    *("true", "1", "60", "S256", "RS256", "RSA-OAEP", "A256GCM", "https://evil.test", "any"),
    *("SAME_SESSION", "request only", '{"gold": 2}', "acme", "CN=evil", "evil.test", "device"),
    *('{"device": "evil"}', "urn:evil", "192.0.2.7", "evil@evil.test", "spiffe://evil/{device}"),
)


BOUND: Final = {"tls.client.certificate.bound.access.tokens": "true"}
OF_DEVICES: Final = ("device.failures", "device.lock", "device.quota", "template.claims")


def needed_for(name: str) -> dict[str, Any]:
    """Return the settings without which a client cannot have the attribute."""
    if name.endswith(".enc"):
        return {"attributes": {f"{name.removesuffix('.enc')}.alg": "RSA-OAEP"}}
    if name.endswith("renewal.overlap"):
        return {"attributes": BOUND}
    if not name.startswith("realmgate.certificate."):
        return {}
    template = {**BOUND, "realmgate.certificate.template": "spiffe://plant/{device}"}
    attributes = template if name.endswith(OF_DEVICES) else BOUND
    return {"clientAuthenticatorType": "client-x509", "attributes": attributes}


def test_every_attribute_of_a_client_is_judged(realm: AdministeredRealm) -> None:
    names = {*SETTING_ATTRIBUTES, *CHECKS, "unknown.attribute"}
    for name in sorted(names - HARMLESS_ATTRIBUTES.keys()):
        document = {"clientId": "judged", **CONFIDENTIAL, **needed_for(name)}
        path = f"clients/{realm.change('POST', 'clients', document)}"
        before = realm.get(path)["attributes"]
        for text in CANDIDATES:
            answer = realm.ask("PUT", path, {"attributes": {name: text}}, by="lesser")
            if answer.is_success and realm.get(path)["attributes"] != before:
                break
        else:
            pytest.fail(f"no value of {name} was accepted: {answer.text}")
        assert not reach(realm, path)["all"], name
        realm.change("DELETE", path)


def test_harmless_settings_leave_the_reach(realm: AdministeredRealm, approved: str) -> None:
    values = {"enabled": True, "notBefore": 1, "nodeReRegistrationTimeout": 5}
    flags = {"alwaysDisplayInConsole", "surrogateAuthRequired"}
    for name in HARMLESS_FIELDS:
        value = values.get(name, True if name in flags else "text")
        if name == "registeredNodes":
            realm.change("POST", f"{approved}/nodes", {"node": "node.test"}, by="lesser")
        else:
            realm.change("PUT", approved, {name: value}, by="lesser")
        assert reach(realm, approved)["all"], name
    for name in HARMLESS_ATTRIBUTES:
        for text in CANDIDATES:
            if realm.ask("PUT", approved, {"attributes": {name: text}}, by="lesser").is_success:
                break
        assert reach(realm, approved)["all"], name
    realm.change("PUT", approved, {**realm.get(approved), "description": "whole"}, by="lesser")
    assert reach(realm, approved)["all"]


def test_a_lower_not_before_takes_roles_away(realm: AdministeredRealm, approved: str) -> None:
    access = tokens(realm, "approved")["access_token"]
    realm.change("PUT", approved, {"notBefore": int(time.time()) + 5}, by="lesser")
    assert reach(realm, approved)["all"]
    assert realm.administration.ask("GET", f"{realm.name}/users", access).status_code == 401
    realm.change("PUT", approved, {"notBefore": 0}, by="lesser")
    assert not reach(realm, approved)["all"]
    assert not opens(realm, access)
    console = f"clients/{realm.get('clients?clientId=security-admin-console')[0]['id']}"
    realm.change("PUT", console, {"notBefore": 1})
    assert realm.refused("PUT", console, {"notBefore": 0}, by="lesser")[0] == 403
    realm.change("PUT", console, {"notBefore": 0})


def given_role(master: AdministeredRealm, client_id: str, owner: str, name: str) -> str:
    """Make a client of `master` whose service account has one role; return its path."""
    document = {"clientId": client_id, **CONFIDENTIAL, "serviceAccountsEnabled": True}
    path = f"clients/{master.change('POST', 'clients', document)}"
    account = master.get(f"{path}/service-account-user")["id"]
    container = master.get(f"clients?clientId={owner}")[0]["id"]
    role = master.get(f"clients/{container}/roles/{name}")
    master.change("POST", f"users/{account}/role-mappings/clients/{container}", [role])
    return path


def test_roles_over_other_realms_are_administrative_in_master(
    administration: Administration,
) -> None:
    master = AdministeredRealm(administration, "master")
    lesser = given_role(master, "lesser-in-master", "master-realm", "manage-clients")
    made = master.change(
        "POST", "clients", {"clientId": "collector", **PUBLIC}, by="lesser-in-master"
    )
    form = {"grant_type": "password", "client_id": "collector"}
    form |= {"username": "admin", "password": ADMIN_PASSWORD}
    access = token_request(master, form).json()["access_token"]
    claims = claims_of(access)
    assert "admin" not in claims["realm_access"]["roles"]
    owners = claims["resource_access"]
    assert {name for name in owners if name.endswith("-realm")} == {"master-realm"}
    assert {*owners["master-realm"]["roles"]} <= OF_LESSER
    for path in ("acme/users", "master/users"):
        answer = administration.ask("GET", path, access)
        assert answer.status_code == 403 or answer.json() == []
    assert administration.ask("POST", "", access, document={"realm": "x"}).status_code == 403
    for path in (f"clients/{made}", lesser):
        master.change("DELETE", path)


def test_the_reach_follows_the_name_of_a_realm(administration: Administration) -> None:
    master = AdministeredRealm(administration, "master")
    assert administration.ask("POST", "", document={"realm": "former"}).is_success
    lesser = given_role(master, "lesser-over-former", "master-realm", "manage-clients")
    account = master.get(f"{lesser}/service-account-user")["id"]
    over = master.get("clients?clientId=former-realm")[0]["id"]
    role = master.get(f"clients/{over}/roles/view-users")
    master.change("POST", f"users/{account}/role-mappings/clients/{over}", [role])
    document = {"clientId": "collector", **PUBLIC}
    path = f"clients/{master.change('POST', 'clients', document, by='lesser-over-former')}"
    assert "former-realm/view-users" in reach(master, path)["roles"]
    assert administration.ask("PUT", "former", document={"realm": "latter"}).is_success
    shown = reach(master, path)["roles"]
    assert "latter-realm/view-users" in shown
    assert not any(name.startswith("former-realm/") for name in shown)
    assert administration.ask("DELETE", "latter").is_success
    assert not any(name.startswith("latter-realm/") for name in reach(master, path)["roles"])
    for one in (path, lesser):
        master.change("DELETE", one)
