"""Client scopes over the admin API: what changes is in the next token. Keycloak: 7.1, 7.3."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gateway.admin.access.rights import AdminRole
from tests.support.administration import Administration
from tests.support.made_realms import exported, told
from tests.support.recorded_changes import recorded_changes
from tests.support.scoped_realm import ScopedRealm, mapper

UNKNOWN = "0f5cbf5e-0000-4000-8000-000000000000"
SEEING = {AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS}


def test_a_new_realm_has_keycloaks_scopes_each_readable(scoped: ScopedRealm) -> None:
    listed = scoped.get("client-scopes")
    assert len(listed) == 15
    for scope in listed:
        assert scoped.get(f"client-scopes/{scope['id']}") == scope
    assert scoped.names("default-default-client-scopes") == [
        *("AuthnContextClassRef", "acr", "basic", "email", "profile", "role_list", "roles"),
        *("saml_organization", "web-origins"),
    ]
    assert scoped.names("default-optional-client-scopes") == [
        *("address", "microprofile-jwt", "offline_access", "organization", "phone"),
    ]
    found = scoped.get("default-default-client-scopes")[1]
    assert found == {"id": scoped.scope("acr"), "name": "acr", "protocol": "openid-connect"}


def test_a_scope_of_ones_own_is_in_tokens_once_the_client_has_it(scoped: ScopedRealm) -> None:
    scope_id = scoped.add_scope("mine", mapper("m", "by-mine"))
    app = scoped.client("app")
    assert scoped.refused("mine") == "invalid_scope"

    scoped.do("PUT", f"clients/{app}/optional-client-scopes/{scope_id}")
    assert scoped.names(f"clients/{app}/optional-client-scopes") == [
        *("address", "microprofile-jwt", "mine", "offline_access", "organization", "phone"),
    ]
    assert "by-mine" not in scoped.claims()
    claims = scoped.claims("openid mine")
    assert (claims["by-mine"], claims["scope"]) == ("x", "openid email mine profile")

    scoped.do("DELETE", f"clients/{app}/optional-client-scopes/{scope_id}")
    scoped.do("PUT", f"clients/{app}/default-client-scopes/{scope_id}")
    assert scoped.claims()["by-mine"] == "x"
    found = scoped.get(f"clients/{app}/default-client-scopes")
    assert {"id": scope_id, "name": "mine"} in found


def test_the_scope_text_hides_what_the_scope_says_it_hides(scoped: ScopedRealm) -> None:
    hidden = {"include.in.token.scope": "false"}
    scope_id = scoped.add_scope("mine", mapper("m", "by-mine"), attributes=hidden)
    scoped.do("PUT", f"clients/{scoped.client('app')}/default-client-scopes/{scope_id}")
    assert scoped.claims()["scope"] == "email profile"
    scoped.do(
        "PUT",
        f"client-scopes/{scope_id}",
        {"name": "mine", "attributes": {"include.in.token.scope": "true"}},
    )
    assert scoped.claims()["scope"] == "email mine profile"


def test_renamed_scopes_stay_with_clients_and_removed_ones_go(
    scoped: ScopedRealm,
) -> None:
    scope_id = scoped.add_scope("mine", mapper("m", "by-mine"))
    app, other = scoped.client("app"), scoped.client("other")
    scoped.do("PUT", f"clients/{app}/optional-client-scopes/{scope_id}")
    scoped.do("PUT", f"clients/{other}/default-client-scopes/{scope_id}")

    scoped.do("PUT", f"client-scopes/{scope_id}", {"name": "yours"})
    assert scoped.refused("mine") == "invalid_scope"
    assert scoped.claims("yours")["scope"] == "email profile yours"
    assert scoped.claims(client_id="other")["by-mine"] == "x"

    granted = scoped.tokens("openid yours offline_access")
    scoped.do("DELETE", f"client-scopes/{scope_id}")
    assert scoped.refused("yours") == "invalid_scope"
    assert "by-mine" not in scoped.claims(client_id="other")
    assert "yours" not in scoped.names(f"clients/{app}/optional-client-scopes")
    refreshed = scoped.protocol(
        "token",
        {
            "grant_type": "refresh_token",
            "client_id": "app",
            "refresh_token": granted["refresh_token"],
        },
    ).json()
    assert refreshed.get("scope") == "openid email offline_access profile", refreshed
    scoped.add_scope("yours")
    assert scoped.refused("yours") == "invalid_scope"


def test_a_put_merges_and_leaves_the_mappers_alone(scoped: ScopedRealm) -> None:
    scope_id = scoped.add_scope("mine", mapper("m", "c"), attributes={"z": "1", "a": "2"})
    url = f"client-scopes/{scope_id}"
    before = scoped.get(url)
    scoped.do("PUT", url, before)
    assert scoped.ask("GET", url).text == scoped.ask("GET", url).text
    assert scoped.get(url) == before
    sent = {"attributes": {"a": "3", "z": None, "q": "9"}, "protocolMappers": [], "id": "other"}
    scoped.do("PUT", url, {**sent, "description": "d"})
    assert scoped.get(url) == {
        **before,
        "description": "d",
        "attributes": {"a": "3", "q": "9"},
    } | {"description": "d"}


def test_a_scope_may_bring_an_id_of_its_own(scoped: ScopedRealm) -> None:
    response = scoped.ask(
        "POST", "client-scopes/", {"id": "my-id", "name": "mine", "protocol": "saml", "foo": 1}
    )
    assert response.status_code == 201
    assert response.content == b""
    address = f"https://gateway.test/admin/realms/{scoped.name}/client-scopes/my-id"
    assert response.headers["location"] == address
    assert scoped.get("client-scopes/my-id") == {
        "id": "my-id",
        "name": "mine",
        "protocol": "saml",
        "attributes": {},
    }


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({"name": "x"}, 400, "Unexpected protocol"),
        ({"name": "x", "protocol": "zzz"}, 400, "Unexpected protocol"),
        ({"name": "x", "protocol": "docker-v2"}, 400, "Unexpected protocol"),
        ({"name": "", "protocol": "saml"}, 400, 'Unexpected name "" for ClientScope'),
        ({"name": "a b", "protocol": "saml"}, 400, 'Unexpected name "a b" for ClientScope'),
        ({"name": "ä", "protocol": "saml"}, 400, 'Unexpected name "ä" for ClientScope'),
        ({"protocol": "saml"}, 400, 'Unexpected name "null" for ClientScope'),
        ({"name": "email", "protocol": "saml"}, 409, "Client Scope email already exists"),
    ],
)
def test_what_cannot_be_a_scope_is_refused_in_keycloaks_words(
    scoped: ScopedRealm, document: dict[str, Any], status: int, text: str
) -> None:
    before = scoped.get("client-scopes")
    assert told(scoped.ask("POST", "client-scopes", document)) == (status, text)
    assert scoped.get("client-scopes") == before


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"protocol": "zzz"}, "Unexpected protocol"),
        ({"name": "a b"}, 'Unexpected name "a b" for ClientScope'),
        ({"name": None}, 'Unexpected name "null" for ClientScope'),
    ],
)
def test_a_scope_does_not_become_what_cannot_be_one(
    scoped: ScopedRealm, document: dict[str, Any], text: str
) -> None:
    path = f"client-scopes/{scoped.scope('email')}"
    before = scoped.get(path)
    assert told(scoped.ask("PUT", path, document)) == (400, text)
    assert scoped.get(path) == before


@pytest.mark.parametrize(
    "document",
    [
        {"name": "p" * 256},
        {"name": "x", "attributes": {"a": [1]}},
        {"name": "x", "attributes": {"a": "\0"}},
        {"name": "x", "description": "d" * 20_000},
        {"name": "x", "protocolMappers": [{"name": "m"}]},
        {"name": "x", "protocolMappers": [mapper("m", "c"), mapper("m", "d")]},
        {"name": ["x"]},
        {"name": {"x": 1}},
        {"name": 10**400},
    ],
)
def test_wrong_fields_are_refused_and_nothing_is_written(
    scoped: ScopedRealm, document: dict[str, Any]
) -> None:
    before = scoped.get("client-scopes")
    response = scoped.ask("POST", "client-scopes", {"protocol": "openid-connect", **document})
    assert response.status_code == 400
    if "protocolMappers" not in document:
        url = f"client-scopes/{scoped.scope('email')}"
        assert scoped.ask("PUT", url, document).status_code == 400
    assert scoped.get("client-scopes") == before


def test_a_name_that_is_taken_is_refused_at_a_change_too(scoped: ScopedRealm) -> None:
    url = f"client-scopes/{scoped.scope('phone')}"
    assert told(scoped.ask("PUT", url, {"name": "email"})) == (
        409,
        "Client Scope email already exists",
    )
    assert scoped.get(url)["name"] == "phone"


def test_of_two_who_make_the_same_scope_at_once_one_does(scoped: ScopedRealm) -> None:
    def make(_: int) -> int:
        document = {"name": "twice", "protocol": "openid-connect"}
        return scoped.ask("POST", "client-scopes", document).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [201, 409, 409, 409]
    assert scoped.names("client-scopes").count("twice") == 1


def test_unknown_scopes_are_told_in_keycloaks_words(scoped: ScopedRealm) -> None:
    app = scoped.client("app")
    missing = (404, "Could not find client scope")
    for scope_id in (UNKNOWN, "a%2Fb", "x" * 300):
        for method, sent in (("GET", None), ("PUT", {"name": "x"}), ("DELETE", None)):
            assert told(scoped.ask(method, f"client-scopes/{scope_id}", sent)) == missing
        for lists in ("default-default", "default-optional", f"clients/{app}/default"):
            for method in ("PUT", "DELETE"):
                url = f"{lists}-client-scopes/{scope_id}"
                assert told(scoped.ask(method, url)) == (404, "Client scope not found")
    for kind in ("default", "optional"):
        url = f"clients/{UNKNOWN}/{kind}-client-scopes"
        assert told(scoped.ask("GET", url)) == (404, "Could not find client")
        found = scoped.ask("PUT", f"{url}/{scoped.scope('email')}")
        assert told(found) == (404, "Could not find client")


def test_nothing_of_another_realm_is_reached(
    scoped: ScopedRealm, administration: Administration
) -> None:
    theirs = administration.get("client-scopes")[0]
    own = scoped.scope("email")
    app = scoped.client("app")
    assert scoped.ask("GET", f"client-scopes/{theirs['id']}").status_code == 404
    assert scoped.ask("DELETE", f"client-scopes/{theirs['id']}").status_code == 404
    url = f"clients/{app}/default-client-scopes/{theirs['id']}"
    assert scoped.ask("PUT", url).status_code == 404
    assert administration.ask("GET", f"acme/client-scopes/{own}").status_code == 404
    url = f"acme/clients/{app}/default-client-scopes"
    assert administration.ask("GET", url).status_code == 404


def test_new_clients_get_what_the_realm_lists(scoped: ScopedRealm) -> None:
    scope_id = scoped.add_scope("mine")
    url = f"default-default-client-scopes/{scope_id}"
    scoped.do("PUT", url)
    assert "mine" in scoped.names("default-default-client-scopes")
    for taken in ("default", "optional"):
        response = scoped.ask("PUT", f"default-{taken}-client-scopes/{scope_id}")
        assert (response.status_code, response.json()) == (
            409,
            {"error": "conflict", "error_description": "Duplicate resource error"},
        )
    scoped.do("DELETE", url)
    assert "mine" not in scoped.names("default-default-client-scopes")
    scoped.do("DELETE", url)
    scoped.do("PUT", f"default-optional-client-scopes/{scope_id}")
    assert "mine" in scoped.names("default-optional-client-scopes")
    assert scoped.get(f"client-scopes/{scope_id}")["name"] == "mine"


def test_a_scope_is_in_one_list_and_of_the_clients_protocol(
    scoped: ScopedRealm,
) -> None:
    app = scoped.client("app")

    def lists() -> tuple[list[str], list[str]]:
        of_default = scoped.names(f"clients/{app}/default-client-scopes")
        return of_default, scoped.names(f"clients/{app}/optional-client-scopes")

    before = lists()
    scoped.do("PUT", f"clients/{app}/optional-client-scopes/{scoped.scope('email')}")
    scoped.do("PUT", f"clients/{app}/default-client-scopes/{scoped.scope('phone')}")
    scoped.do("PUT", f"clients/{app}/default-client-scopes/{scoped.scope('role_list')}")
    assert lists() == before
    (stored,) = (
        client
        for client in exported(scoped.administration, scoped.name)["clients"]
        if client["clientId"] == "app"
    )
    assert "role_list" not in stored["defaultClientScopes"]
    scoped.do("DELETE", f"clients/{app}/optional-client-scopes/{scoped.scope('email')}")
    assert "email" not in lists()[0]
    assert "email" not in scoped.claims()["scope"]


def test_a_scope_of_another_protocol_has_no_effect_on_the_client(
    scoped: ScopedRealm,
) -> None:
    url = f"client-scopes/{scoped.scope('phone')}"
    scoped.do("PUT", url, {"name": "phone", "protocol": "saml"})
    listed = scoped.names(f"clients/{scoped.client('app')}/optional-client-scopes")
    assert "phone" not in listed
    assert scoped.refused("phone") == "invalid_scope"


def test_the_last_scope_of_a_realm_cannot_be_removed(scoped: ScopedRealm) -> None:
    *others, last = scoped.get("client-scopes")
    for scope in others:
        scoped.do("DELETE", f"client-scopes/{scope['id']}")
    assert told(scoped.ask("DELETE", f"client-scopes/{last['id']}")) == (
        400,
        "You are not allowed to delete all the client scopes.",
    )
    assert scoped.get("client-scopes") == [last]
    assert scoped.claims()["scope"] == ""


def test_a_change_may_say_what_it_knew(scoped: ScopedRealm) -> None:
    url = f"client-scopes/{scoped.scope('phone')}"
    tag = scoped.ask("GET", url).headers["etag"]
    changed = scoped.ask("PUT", url, {"description": "new"}, headers={"If-Match": tag})
    assert changed.status_code == 204
    for method, sent in (("PUT", {"description": "newer"}), ("DELETE", None)):
        refused = scoped.ask(method, url, sent, headers={"If-Match": tag})
        assert refused.status_code == 412
    assert scoped.get(url)["description"] == "new"


def test_what_is_done_to_scopes_is_recorded(scoped: ScopedRealm) -> None:
    scoped.ask("PUT", "", {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True})
    app = scoped.client("app")
    scope_id = scoped.add_scope("mine")
    scoped.do("PUT", f"client-scopes/{scope_id}", {"name": "mine", "description": "d"})
    scoped.do("PUT", f"default-default-client-scopes/{scope_id}")
    scoped.do("DELETE", f"default-default-client-scopes/{scope_id}")
    scoped.do("PUT", f"clients/{app}/default-client-scopes/{scope_id}")
    scoped.do("DELETE", f"clients/{app}/optional-client-scopes/{scope_id}")
    scoped.do("DELETE", f"client-scopes/{scope_id}")
    recorded = recorded_changes(scoped.administration, scoped.name)
    events = [event[:3] for event in recorded if event[1] != "REALM"]
    assert events == [
        ("CREATE", "CLIENT_SCOPE", f"client-scopes/{scope_id}"),
        ("UPDATE", "CLIENT_SCOPE", f"client-scopes/{scope_id}"),
        ("CREATE", "CLIENT_SCOPE", f"default-default-client-scopes/{scope_id}"),
        ("DELETE", "CLIENT_SCOPE", f"default-default-client-scopes/{scope_id}"),
        (
            *("CREATE", "CLIENT_SCOPE_CLIENT_MAPPING"),
            f"clients/{app}/default-client-scopes/{scope_id}",
        ),
        (
            *("DELETE", "CLIENT_SCOPE_CLIENT_MAPPING"),
            f"clients/{app}/optional-client-scopes/{scope_id}",
        ),
        ("DELETE", "CLIENT_SCOPE", f"client-scopes/{scope_id}"),
    ]


@pytest.mark.parametrize("role", [*AdminRole, "nobody"])
def test_client_viewers_see_scopes_and_queriers_an_empty_list(
    administration: Administration, role: str
) -> None:
    token = administration.token(role, "acme")
    listed = administration.ask("GET", "acme/client-scopes", token)
    one = administration.get("client-scopes")[0]["id"]
    shown = administration.ask("GET", f"acme/client-scopes/{one}", token).status_code
    if role in SEEING:
        assert (len(listed.json()), shown) == (15, 200)
    elif role == AdminRole.QUERY_CLIENTS:
        assert (listed.json(), shown) == ([], 403)
    else:
        assert (listed.status_code, shown) == (403, 403)
    made = administration.ask(
        "POST", "acme/client-scopes", token, document={"name": "email", "protocol": "saml"}
    )
    assert made.status_code == (409 if role == AdminRole.MANAGE_CLIENTS else 403)
