"""Roles in scopes over the admin API, and what tokens carry of them. Keycloak: 7.3."""

from typing import Any

import pytest

from gateway.admin.access.rights import REALM_MANAGEMENT, AdminRole
from tests.support.administration import SECRET, Administration
from tests.support.made_realms import import_realm, told
from tests.support.recorded_changes import recorded_changes
from tests.support.scoped_realm import ScopedRealm, claims_of, mapper

UNKNOWN = "0f5cbf5e-0000-4000-8000-000000000000"
_NO_ROLES: list[Any] = [[{"id": UNKNOWN}], [{"name": "alone"}], [{}]]
_NO_LISTS: list[Any] = [{}, [1], ["x"], [{"foo": 1}]]


def roles(claims: dict[str, Any]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the roles that a token carries."""
    of_clients = claims.get("resource_access", {})
    return (
        claims.get("realm_access", {}).get("roles", []),
        {client: access["roles"] for client, access in of_clients.items()},
    )


def mappings(scoped: ScopedRealm, client_id: str = "narrow") -> str:
    """Return the URL of the scope mappings of a client."""
    return f"clients/{scoped.client(client_id)}/scope-mappings"


def test_without_full_scope_a_client_sees_its_own_roles_only(scoped: ScopedRealm) -> None:
    everything = roles(scoped.claims())
    assert {"whole", "part-a", "part-b"} <= set(everything[0])
    assert everything[1]["other"] == ["o1"]
    assert roles(scoped.claims(client_id="narrow")) == ([], {"narrow": ["own"]})


def test_roles_in_the_scope_of_a_client_are_in_the_next_token(scoped: ScopedRealm) -> None:
    url = mappings(scoped)
    other = scoped.client("other")
    scoped.do("POST", f"{url}/realm", [scoped.role("part-a"), scoped.role("alone")])
    scoped.do("POST", f"{url}/clients/{other}", [scoped.role("o1", "other")])
    assert roles(scoped.claims(client_id="narrow")) == (
        ["part-a"],
        {"narrow": ["own"], "other": ["o1"]},
    )
    scoped.do("DELETE", f"{url}/realm", [scoped.role("part-a")])
    scoped.do("DELETE", f"{url}/clients/{other}")
    assert roles(scoped.claims(client_id="narrow")) == ([], {"narrow": ["own"]})
    assert scoped.names(f"{url}/realm") == ["alone"]


def test_what_a_role_in_scope_contains_is_in_scope_too(scoped: ScopedRealm) -> None:
    scoped.do("POST", f"{mappings(scoped)}/realm", [scoped.role("whole")])
    assert roles(scoped.claims(client_id="narrow"))[0] == ["part-a", "part-b", "whole"]


def test_roles_in_the_scope_of_a_granted_client_scope_count_too(scoped: ScopedRealm) -> None:
    scope_id = scoped.add_scope("team")
    scoped.do("POST", f"client-scopes/{scope_id}/scope-mappings/realm", [scoped.role("part-b")])
    narrow = scoped.client("narrow")
    scoped.do("PUT", f"clients/{narrow}/optional-client-scopes/{scope_id}")
    assert roles(scoped.claims(client_id="narrow"))[0] == []
    assert roles(scoped.claims("team", client_id="narrow"))[0] == ["part-b"]


def test_a_scope_with_roles_is_only_for_users_with_one_of_them(scoped: ScopedRealm) -> None:
    scope_id = scoped.add_scope("team", mapper("m", "by-team"))
    scoped.do("PUT", f"clients/{scoped.client('app')}/default-client-scopes/{scope_id}")
    url = f"client-scopes/{scope_id}/scope-mappings"
    assert scoped.claims()["by-team"] == "x"

    scoped.do("POST", f"{url}/realm", [scoped.role("alone")])
    claims = scoped.claims("openid")
    assert ("by-team" in claims, claims["scope"]) == (False, "openid email profile")
    assert "team" in scoped.names(f"clients/{scoped.client('app')}/default-client-scopes")

    scoped.do("POST", f"{url}/clients/{scoped.client('other')}", [scoped.role("o1", "other")])
    claims = scoped.claims()
    assert (claims["by-team"], claims["scope"]) == ("x", "email profile team")
    assert "by-team" not in scoped.account_claims()


def test_a_role_of_ones_own_lets_what_it_contains_through(scoped: ScopedRealm) -> None:
    narrow = scoped.client("narrow")
    scoped.do("POST", f"clients/{narrow}/roles/own/composites", [scoped.role("part-a")])
    assert roles(scoped.claims(client_id="narrow")) == (["part-a"], {"narrow": ["own"]})


def test_a_recreated_role_is_in_none_of_the_old_scopes(
    scoped: ScopedRealm,
) -> None:
    url = mappings(scoped)
    scoped.do("POST", f"{url}/realm", [scoped.role("part-a")])
    scoped.do("DELETE", "roles/part-a")
    scoped.do("POST", "roles", {"name": "part-a"})
    assert scoped.get(f"{url}/realm") == []


def test_mappings_are_told_by_whose_roles_they_are(scoped: ScopedRealm) -> None:
    url = mappings(scoped)
    assert scoped.get(url) == {}
    assert scoped.get(f"{url}/realm") == []
    other = scoped.client("other")
    scoped.do("POST", f"{url}/realm", [scoped.role("whole")])
    scoped.do("POST", f"{url}/realm", [scoped.role("whole")])
    scoped.do("POST", f"{url}/clients/{other}", [scoped.role("o1", "other")])
    realm_id = scoped.get("")["id"]
    whole = {
        "id": scoped.role("whole")["id"],
        "name": "whole",
        "composite": True,
        "clientRole": False,
        "containerId": realm_id,
    }
    o1 = {
        "id": scoped.role("o1", "other")["id"],
        "name": "o1",
        "composite": False,
        "clientRole": True,
        "containerId": other,
    }
    assert scoped.get(f"{url}/realm") == [whole]
    assert scoped.get(f"{url}/clients/{other}") == [o1]
    assert scoped.get(url) == {
        "realmMappings": [whole],
        "clientMappings": {"other": {"id": other, "client": "other", "mappings": [o1]}},
    }


def test_available_are_the_roles_that_are_not_there_yet(scoped: ScopedRealm) -> None:
    url = mappings(scoped)
    other, narrow = scoped.client("other"), scoped.client("narrow")
    every = scoped.names("roles")
    assert scoped.names(f"{url}/realm/available") == every
    scoped.do("POST", f"{url}/realm", [scoped.role("whole")])
    assert scoped.names(f"{url}/realm/available") == [name for name in every if name != "whole"]
    assert scoped.names(f"{url}/clients/{other}/available") == ["o1"]
    assert scoped.get(f"{url}/clients/{narrow}/available") == []


def test_composite_is_all_that_tokens_may_carry(scoped: ScopedRealm) -> None:
    url = mappings(scoped)
    narrow = scoped.client("narrow")
    assert scoped.get(f"{url}/realm/composite") == []
    assert scoped.names(f"{url}/clients/{narrow}/composite") == ["own"]
    scoped.do("POST", f"{url}/realm", [scoped.role("whole")])
    assert scoped.names(f"{url}/realm/composite") == ["part-a", "part-b", "whole"]
    brief = scoped.get(f"{url}/realm/composite")
    full = scoped.get(f"{url}/realm/composite?briefRepresentation=False")
    assert full == [{**role, "attributes": {}} for role in brief]
    assert scoped.names(f"{mappings(scoped, 'app')}/realm/composite") == scoped.names("roles")
    scope = f"client-scopes/{scoped.scope('offline_access')}/scope-mappings"
    assert scoped.names(f"{scope}/realm/composite") == ["offline_access"]


@pytest.mark.parametrize("owner", ["clients", "client-scopes"])
def test_unknown_ids_are_told_in_keycloaks_words(scoped: ScopedRealm, owner: str) -> None:
    known = scoped.client("narrow") if owner == "clients" else scoped.scope("phone")
    url = f"{owner}/{known}/scope-mappings"
    other = scoped.client("other")
    nobody = f"Could not find {'client' if owner == 'clients' else 'client scope'}"
    lists = ("realm", f"clients/{other}")
    for at in (
        "",
        *lists,
        *(f"{at}/{part}" for at in lists for part in ("available", "composite")),
    ):
        unknown = f"{owner}/{UNKNOWN}/scope-mappings/{at}".rstrip("/")
        assert told(scoped.ask("GET", unknown)) == (404, nobody)
    for method in ("POST", "DELETE"):
        for at in lists:
            unknown = f"{owner}/{UNKNOWN}/scope-mappings/{at}"
            assert told(scoped.ask(method, unknown, [])) == (404, nobody)
            for wrong in _NO_ROLES:
                assert told(scoped.ask(method, f"{url}/{at}", wrong)) == (404, "Role not found")
            for shape in _NO_LISTS:
                assert scoped.ask(method, f"{url}/{at}", shape).status_code == 400
        missing = scoped.ask(method, f"{url}/clients/{UNKNOWN}", [])
        assert told(missing) == (404, "Could not find client")
    response = scoped.ask("POST", f"{url}/clients/{other}", [scoped.role("alone")])
    assert told(response) == (404, "Role not found")
    both = [scoped.role("alone"), {"id": UNKNOWN}]
    assert scoped.ask("POST", f"{url}/realm", both).status_code == 404
    assert scoped.get(url) == {}


def test_nothing_of_another_realm_is_reached(
    scoped: ScopedRealm, administration: Administration
) -> None:
    theirs = administration.get("roles")[0]
    url = mappings(scoped)
    assert told(scoped.ask("POST", f"{url}/realm", [theirs])) == (404, "Role not found")
    assert administration.ask("GET", f"acme/{url}").status_code == 404
    role = scoped.role("alone")
    response = administration.ask("POST", f"acme/{url}/realm", document=[role])
    assert response.status_code == 404


def test_what_is_done_is_recorded(scoped: ScopedRealm) -> None:
    scoped.ask("PUT", "", {"adminEventsEnabled": True})
    url, scope = mappings(scoped), f"client-scopes/{scoped.scope('phone')}/scope-mappings"
    other = scoped.client("other")
    scoped.do("POST", f"{url}/realm", [scoped.role("alone")])
    scoped.do("DELETE", f"{url}/realm", [scoped.role("alone")])
    scoped.do("POST", f"{url}/clients/{other}", [scoped.role("o1", "other")])
    scoped.do("DELETE", f"{url}/clients/{other}")
    scoped.do("POST", f"{scope}/realm", [scoped.role("alone")])
    recorded = recorded_changes(scoped.administration, scoped.name)
    assert [event[:3] for event in recorded if event[1] != "REALM"] == [
        ("CREATE", "REALM_SCOPE_MAPPING", f"{url}/realm"),
        ("DELETE", "REALM_SCOPE_MAPPING", f"{url}/realm"),
        ("CREATE", "CLIENT_SCOPE_MAPPING", f"{url}/clients/{other}"),
        ("DELETE", "CLIENT_SCOPE_MAPPING", f"{url}/clients/{other}"),
        ("CREATE", "REALM_SCOPE_MAPPING", f"{scope}/realm"),
    ]


def test_only_who_manages_the_realm_puts_its_roles_into_scopes(scoped: ScopedRealm) -> None:
    """Keycloak: roles of clients are for who manages clients, those of the realm are not."""
    url = mappings(scoped)
    management = scoped.client(REALM_MANAGEMENT)
    clients, both = (
        scoped.administrator(AdminRole.MANAGE_CLIENTS),
        scoped.administrator(AdminRole.MANAGE_CLIENTS, AdminRole.MANAGE_REALM),
    )
    alone, admin = [scoped.role("alone")], [scoped.role("realm-admin", REALM_MANAGEMENT)]
    for method in ("POST", "DELETE"):
        refused = scoped.ask(method, f"{url}/realm", alone, token=clients)
        assert refused.status_code == 403
        of_client = f"{url}/clients/{management}"
        assert scoped.ask(method, of_client, admin, token=clients).status_code == 204
        assert scoped.ask(method, f"{url}/realm", alone, token=both).status_code == 204
    assert scoped.ask("GET", f"{url}/realm/available", token=clients).json() == []
    assert scoped.ask("GET", f"{url}/realm/available", token=both).json() != []


@pytest.mark.parametrize("role", [*AdminRole, "nobody"])
def test_only_who_views_clients_sees_mappings(administration: Administration, role: str) -> None:
    scope_id = administration.get("client-scopes")[0]["id"]
    token = administration.token(role, "acme")
    seeing = role in {AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS}
    for at in ("", "/realm", "/realm/available", "/realm/composite"):
        url = f"acme/client-scopes/{scope_id}/scope-mappings{at}"
        assert administration.ask("GET", url, token).status_code == (200 if seeing else 403)
    put = administration.ask(
        "POST", f"acme/client-scopes/{scope_id}/scope-mappings/realm", token, document=[]
    )
    assert put.status_code == (204 if role == AdminRole.MANAGE_CLIENTS else 403)


LIMITED: dict[str, dict[str, Any]] = {
    "plain": {},
    "light": {"attributes": {"client.use.lightweight.access.token.enabled": "true"}},
    "without the roles in its tokens": {"defaultClientScopes": ["basic"]},
}


@pytest.fixture(params=LIMITED, name="limited")
def administrator_of_limited_scope(
    scoped: ScopedRealm, request: pytest.FixtureRequest
) -> ScopedRealm:
    """Add a client whose service account may view clients, and whose scope is not full."""
    client = {"clientId": "limited", "secret": SECRET, "serviceAccountsEnabled": True}
    fields = {"fullScopeAllowed": False, **LIMITED[request.param]}
    account = {
        "username": "service-account-limited",
        "serviceAccountClientId": "limited",
        "clientRoles": {REALM_MANAGEMENT: [AdminRole.VIEW_CLIENTS]},
    }
    import_realm(
        scoped.administration,
        {"realm": scoped.name, "clients": [client | fields], "users": [account]},
    )
    return scoped


def test_rights_are_those_in_the_scope_of_the_token_as_it_is_now(limited: ScopedRealm) -> None:
    """Keycloak 26.7: whether the token carries roles makes no difference."""
    token = limited.administration.fresh_token("limited", limited.name)
    url = f"{mappings(limited, 'limited')}/clients/{limited.client(REALM_MANAGEMENT)}"
    viewing = [limited.role(AdminRole.VIEW_CLIENTS, REALM_MANAGEMENT)]
    assert limited.ask("GET", "client-scopes", token=token).status_code == 403
    limited.do("POST", url, viewing)
    assert limited.ask("GET", "client-scopes", token=token).status_code == 200
    assert limited.ask("POST", "client-scopes", {}, token=token).status_code == 403
    limited.do("DELETE", url, viewing)
    assert limited.ask("GET", "client-scopes", token=token).status_code == 403


def test_a_requested_scope_widens_the_rights_of_the_token(limited: ScopedRealm) -> None:
    scope_id = limited.add_scope("viewing")
    url = f"client-scopes/{scope_id}/scope-mappings/clients/{limited.client(REALM_MANAGEMENT)}"
    limited.do("POST", url, [limited.role(AdminRole.VIEW_CLIENTS, REALM_MANAGEMENT)])
    limited.do("PUT", f"clients/{limited.client('limited')}/optional-client-scopes/{scope_id}")
    form = {
        "grant_type": "client_credentials",
        "client_id": "limited",
        "client_secret": SECRET,
    }
    for scope, status in (("", 403), ("viewing", 200)):
        sent = form | ({"scope": scope} if scope else {})
        token = limited.protocol("token", sent).json()["access_token"]
        assert limited.ask("GET", "client-scopes", token=token).status_code == status


def test_an_example_says_what_a_token_would_say(scoped: ScopedRealm) -> None:
    scoped.do(
        "POST",
        f"clients/{scoped.client('app')}/protocol-mappers/models",
        mapper("m", "c", **{"id.token.claim": "true", "userinfo.token.claim": "true"}),
    )
    user = scoped.get("users?username=ann")[0]["id"]
    url = f"clients/{scoped.client('app')}/evaluate-scopes/generate-example"
    asked = f"scope=openid&userId={user}"
    tokens = scoped.tokens("openid")
    moving = {"exp", "iat", "jti", "sid"}

    def still(claims: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in claims.items() if name not in moving}

    access = scoped.get(f"{url}-access-token?{asked}")
    assert still(access) == still(claims_of(tokens["access_token"]))
    assert access["jti"].startswith("onrtna:")
    assert moving <= access.keys()
    identity = claims_of(tokens["id_token"])
    del identity["at_hash"]
    assert still(scoped.get(f"{url}-id-token?{asked}")) == still(identity)
    assert scoped.get(f"{url}-userinfo?{asked}") == scoped.userinfo(tokens["access_token"])


def test_an_example_token_skips_scopes_the_client_lacks(
    scoped: ScopedRealm,
) -> None:
    user = scoped.get("users?username=ann")[0]["id"]
    url = f"clients/{scoped.client('app')}/evaluate-scopes/generate-example-access-token"
    found = scoped.get(f"{url}?scope=openid%20bogus%20phone&userId={user}")
    assert found["scope"] == "openid email phone profile"
    assert scoped.get(f"{url}?userId={user}")["scope"] == "email profile"


def test_an_example_for_one_audience_tells_of_no_other(scoped: ScopedRealm) -> None:
    user = scoped.get("users?username=ann")[0]["id"]
    url = f"clients/{scoped.client('app')}/evaluate-scopes/generate-example-access-token"
    mappers = f"clients/{scoped.client('app')}/protocol-mappers/models"
    config = {"included.client.audience": "service", "access.token.claim": "true"}
    kind = {"protocolMapper": "oidc-audience-mapper", "config": config}
    scoped.do("POST", mappers, mapper("aud", "") | kind)
    found = scoped.get(f"{url}?userId={user}&audience=other")
    assert (found["aud"], found["resource_access"]) == ("other", {"other": {"roles": ["o1"]}})
    assert "whole" in found["realm_access"]["roles"]
    found = scoped.get(f"{url}?userId={user}&audience=ghost")
    assert {"narrow", "other", "service"} <= set(found["aud"])
    missing = scoped.ask("GET", f"{url}?userId={user}&audience=app")
    assert told(missing) == (404, "Requested audience not available: app")


def test_examples_of_nobody_are_told_in_keycloaks_words(scoped: ScopedRealm) -> None:
    app = scoped.client("app")
    for kind in ("access-token", "id-token", "userinfo"):
        url = f"evaluate-scopes/generate-example-{kind}"
        assert told(scoped.ask("GET", f"clients/{app}/{url}")) == (404, "No userId provided")
        missing = scoped.ask("GET", f"clients/{app}/{url}?userId={UNKNOWN}")
        assert told(missing) == (404, "No user found")
        nobody = scoped.ask("GET", f"clients/{UNKNOWN}/{url}?userId={UNKNOWN}")
        assert told(nobody) == (404, "Could not find client")


def test_examples_are_for_who_may_see_users_as_well(scoped: ScopedRealm) -> None:
    user = scoped.get("users?username=ann")[0]["id"]
    url = f"clients/{scoped.client('app')}/evaluate-scopes"
    example = f"{url}/generate-example-userinfo?userId={user}"
    clients = scoped.administrator(AdminRole.VIEW_CLIENTS)
    users = scoped.administrator(AdminRole.VIEW_USERS)
    both = scoped.administrator(AdminRole.VIEW_CLIENTS, AdminRole.VIEW_USERS)
    for token, statuses in ((clients, (200, 403)), (users, (403, 403)), (both, (200, 200))):
        found = scoped.ask("GET", f"{url}/protocol-mappers", token=token).status_code
        assert (found, scoped.ask("GET", example, token=token).status_code) == statuses


def test_effective_mappers_are_listed_with_their_origin(
    scoped: ScopedRealm,
) -> None:
    app = scoped.client("app")
    own = scoped.do("POST", f"clients/{app}/protocol-mappers/models", mapper("m", "c"))
    elsewhere = mapper("s", "c") | {"protocol": "saml"}
    for owner in (f"clients/{app}", f"client-scopes/{scoped.scope('basic')}"):
        scoped.do("POST", f"{owner}/protocol-mappers/models", elsewhere)
    url = f"clients/{app}/evaluate-scopes/protocol-mappers"
    found = scoped.get(url)
    assert "s" not in {item["mapperName"] for item in found}
    assert found[-1] == {
        "mapperId": own,
        "mapperName": "m",
        "containerId": app,
        "containerName": "",
        "containerType": "client",
        "protocolMapper": "oidc-hardcoded-claim-mapper",
    }
    basic = scoped.scope("basic")
    assert [item for item in found if item["mapperName"] == "sub"] == [
        {
            "mapperId": next(
                one["id"]
                for one in scoped.get(f"client-scopes/{basic}")["protocolMappers"]
                if one["name"] == "sub"
            ),
            "mapperName": "sub",
            "containerId": basic,
            "containerName": "basic",
            "containerType": "client-scope",
            "protocolMapper": "oidc-sub-mapper",
        }
    ]
    asked = {item["mapperName"] for item in scoped.get(f"{url}?scope=phone")}
    assert asked - {item["mapperName"] for item in found} == {
        *("phone number", "phone number verified"),
    }


def test_the_roles_that_tokens_may_carry_are_told_by_container(scoped: ScopedRealm) -> None:
    narrow, other = scoped.client("narrow"), scoped.client("other")
    url = f"clients/{narrow}/evaluate-scopes/scope-mappings"
    scoped.do("POST", f"{mappings(scoped)}/realm", [scoped.role("whole")])
    granted = ["part-a", "part-b", "whole"]
    assert scoped.names(f"{url}/{scoped.name}/granted") == granted
    rest = [name for name in scoped.names("roles") if name not in granted]
    assert scoped.names(f"{url}/{scoped.name}/not-granted") == rest
    asked = f"{url}/{scoped.name}/granted?scope=offline_access"
    assert scoped.names(asked) == ["offline_access", *granted]
    assert (scoped.names(f"{url}/{narrow}/granted"), scoped.names(f"{url}/{other}/granted")) == (
        ["own"],
        [],
    )
    assert scoped.names(f"{url}/{other}/not-granted") == ["o1"]
    full = f"clients/{scoped.client('app')}/evaluate-scopes/scope-mappings"
    assert scoped.names(f"{full}/{scoped.name}/granted") == scoped.names("roles")
    assert scoped.get(f"{full}/{scoped.name}/not-granted") == []
    missing = scoped.ask("GET", f"{full}/{UNKNOWN}/granted")
    assert told(missing) == (404, "Role Container not found")
