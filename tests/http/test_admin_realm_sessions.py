"""Ending and counting the sessions of a realm, and what else is done to it as a whole.

Keycloak: 7.1 (logout-all, sessions, client-session-stats, default-groups, client-policies)
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.made_realms import DONE, OK, exported, make, shown, told
from tests.support.tokens import claims_of

PROFILES = "client-policies/profiles"
POLICIES = "client-policies/policies"


def _person(username: str, **fields: Any) -> dict[str, Any]:
    credentials = [{"type": "password", "value": PASSWORD}]
    return {"username": username, "enabled": True, "credentials": credentials, **fields}


@pytest.fixture(scope="module")
def lively(administration: Administration) -> Iterator[str]:
    """Make a realm where people sign in."""
    name = "lively"
    client = {"clientId": "app", "publicClient": True, "directAccessGrantsEnabled": True}
    manager = {"clientId": "manager", "secret": SECRET, "serviceAccountsEnabled": True}
    account = {
        "username": "service-account-manager",
        "serviceAccountClientId": "manager",
        "clientRoles": {"realm-management": ["manage-realm"]},
    }
    groups: list[dict[str, Any]] = [
        {"name": "staff", "subGroups": [{"name": "berlin"}]},
        {"name": "lords", "clientRoles": {"realm-management": ["manage-users"]}},
    ]
    make(
        administration,
        name,
        enabled=True,
        sslRequired="none",
        accessTokenLifespan=1800,
        clients=[client, manager],
        groups=groups,
        users=[_person("ann"), _person("bea"), account],
    )
    yield name
    administration.ask("DELETE", name)


def sign_in(administration: Administration, username: str, **form: str) -> dict[str, Any]:
    sent = {"grant_type": "password", "client_id": "app", "password": PASSWORD}
    response = administration.http.post(
        "/realms/lively/protocol/openid-connect/token",
        data={**sent, "username": username, "scope": "openid", **form},
    )
    assert response.status_code == OK, response.text
    found: dict[str, Any] = response.json()
    return found


def session_of(tokens: dict[str, Any]) -> str:
    return str(claims_of(tokens["access_token"])["sid"])


def works(administration: Administration, tokens: dict[str, Any]) -> bool:
    response = administration.http.get(
        "/realms/lively/protocol/openid-connect/userinfo",
        headers={"Authorization": f"Bearer {tokens['access_token']}"},
    )
    return response.status_code == OK


def statistics(administration: Administration) -> dict[str, tuple[str, str]]:
    found = administration.ask("GET", "lively/client-session-stats").json()
    return {item["clientId"]: (item["active"], item["offline"]) for item in found}


def refreshes(administration: Administration, tokens: dict[str, Any]) -> bool:
    sent = {"grant_type": "refresh_token", "client_id": "app"}
    response = administration.http.post(
        "/realms/lively/protocol/openid-connect/token",
        data={**sent, "refresh_token": tokens["refresh_token"]},
    )
    return response.status_code == OK


def test_one_session_is_ended_and_no_other(administration: Administration, lively: str) -> None:
    ann, bea = sign_in(administration, "ann"), sign_in(administration, "bea")
    assert statistics(administration) == {"app": ("2", "0")}
    path = f"{lively}/sessions/{session_of(ann)}"
    assert told(administration.ask("DELETE", f"{path}?isOffline=true")) == (
        404,
        "Sesssion not found",
    )
    assert works(administration, ann)
    assert administration.ask("DELETE", path).status_code == DONE
    assert not works(administration, ann)
    assert not refreshes(administration, ann)
    assert works(administration, bea)
    assert told(administration.ask("DELETE", path)) == (404, "Sesssion not found")
    assert statistics(administration) == {"app": ("1", "0")}
    assert administration.ask("POST", f"{lively}/logout-all").status_code == OK


def test_an_offline_session_is_ended_as_one(administration: Administration, lively: str) -> None:
    tokens = sign_in(administration, "ann", scope="openid offline_access")
    assert statistics(administration)["app"][1] == "1"
    path = f"{lively}/sessions/{claims_of(tokens['refresh_token'])['sid']}?isOffline=true"
    assert administration.ask("DELETE", path).status_code == DONE
    assert not refreshes(administration, tokens)
    assert administration.ask("DELETE", path).status_code == 404
    assert administration.ask("POST", f"{lively}/logout-all").status_code == OK


def test_a_session_of_another_realm_is_not_found(
    administration: Administration, lively: str
) -> None:
    tokens = sign_in(administration, "ann")
    foreign = administration.ask("DELETE", f"other/sessions/{session_of(tokens)}")
    assert foreign.status_code == 404
    assert works(administration, tokens)
    for odd in ("x" * 300, "%00", "a%2Fb", "%F0%9F%98%80"):
        assert administration.ask("DELETE", f"{lively}/sessions/{odd}").status_code == 404


def test_everybody_is_logged_out_at_once(administration: Administration, lively: str) -> None:
    tokens = [sign_in(administration, name) for name in ("ann", "bea")]
    offline = sign_in(administration, "ann", scope="openid offline_access")
    answer = administration.ask("POST", f"{lively}/logout-all")
    assert (answer.status_code, answer.json()) == (OK, {})
    assert statistics(administration) == {}
    for each in (*tokens, offline):
        assert not works(administration, each)
        assert not refreshes(administration, each)
    assert shown(administration, lively)["notBefore"] > 0


def test_a_push_of_revocations_tells_nobody_and_changes_nothing(
    administration: Administration, lively: str
) -> None:
    before = shown(administration, lively)
    answer = administration.ask("POST", f"{lively}/push-revocation")
    assert (answer.status_code, answer.json()) == (OK, {})
    assert shown(administration, lively) == before


def _not_before_behind_the_gateways_back(administration: Administration, instant: int) -> None:
    """Write a setting where no gateway is told of it."""
    file = administration.gateway.state_dir / "realmgate.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        statement = "UPDATE realms SET settings = json_set(settings, '$.not_before', ?)"
        connection.execute(f"{statement} WHERE name = 'lively'", (instant,))


@pytest.mark.parametrize("kind", ["realm", "user", "keys"])
def test_an_emptied_cache_is_read_anew(
    administration: Administration, lively: str, kind: str
) -> None:
    instant = 1_700_000_000 + len(kind)
    administration.http.get(f"/realms/{lively}")
    _not_before_behind_the_gateways_back(administration, instant)
    answer = administration.ask("POST", f"{lively}/clear-{kind}-cache")
    assert (answer.status_code, answer.content) == (DONE, b"")
    found = administration.http.get(f"/realms/{lively}").json()
    assert found["tokens-not-before"] == instant


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "users-management-permissions"),
        ("PUT", "users-management-permissions"),
        ("POST", "clear-crl-cache"),
        ("POST", "testLDAPConnection"),
        ("POST", "ldap-server-capabilities"),
        ("GET", "client-types"),
    ],
)
def test_what_is_not_here_says_so(
    administration: Administration, lively: str, method: str, path: str
) -> None:
    answer = administration.ask(method, f"{lively}/{path}")
    assert answer.status_code == 501
    assert answer.json()["error"] == "Feature not enabled"
    assert answer.json()["error_description"]


def test_credential_registrators_are_the_existing_ones(
    administration: Administration, lively: str
) -> None:
    """Keycloak: 16.1 required actions, 26.7: enabled ones by priority, keys among them."""
    expected = [
        *("CONFIGURE_TOTP", "webauthn-register", "webauthn-register-passwordless"),
        "CONFIGURE_RECOVERY_AUTHN_CODES",
    ]

    def registrators() -> Any:
        return administration.ask("GET", f"{lively}/credential-registrators").json()

    assert registrators() == expected
    for disabled in expected:
        path = f"{lively}/authentication/required-actions/{disabled}"
        action = administration.ask("GET", path).json()
        administration.ask("PUT", path, document=action | {"enabled": False})
        assert registrators() == [each for each in expected if each != disabled]
        administration.ask("PUT", path, document=action)
    first = f"{lively}/authentication/required-actions/CONFIGURE_RECOVERY_AUTHN_CODES"
    action = administration.ask("GET", first).json()
    administration.ask("PUT", first, document=action | {"priority": 1})
    assert registrators() == [expected[-1], *expected[:-1]]
    administration.ask("PUT", first, document=action)


def _groups(administration: Administration) -> dict[str, str]:
    def walk(items: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for item in items:
            yield item["path"], item["id"]
            yield from walk(item["subGroups"])

    return dict(walk(exported(administration, "lively")["groups"]))


def test_new_users_join_a_group_from_now_on_and_no_longer(
    administration: Administration, lively: str
) -> None:
    ids = _groups(administration)
    berlin = ids["/staff/berlin"]
    path = f"{lively}/default-groups"
    for _ in range(2):
        assert administration.ask("PUT", f"{path}/{berlin}").status_code == DONE
    assert administration.ask("GET", path).json() == [
        {
            "id": berlin,
            "name": "berlin",
            "path": "/staff/berlin",
            "parentId": ids["/staff"],
            "subGroups": [],
        }
    ]
    for _ in range(2):
        assert administration.ask("DELETE", f"{path}/{berlin}").status_code == DONE
    assert administration.ask("GET", path).json() == []
    for method in ("PUT", "DELETE"):
        assert told(administration.ask(method, f"{path}/nobody")) == (404, "Group not found")
        assert told(administration.ask(method, f"other/default-groups/{berlin}")) == (
            404,
            "Group not found",
        )


def test_a_group_above_ones_own_rights_cannot_be_made_everybodys(
    administration: Administration, lively: str
) -> None:
    token = administration.token("manager", lively)
    ids = _groups(administration)
    path = f"{lively}/default-groups"
    assert administration.ask("PUT", f"{path}/{ids['/lords']}", token).status_code == 403
    update = administration.ask("PUT", lively, token, document={"defaultGroups": ["/lords"]})
    assert update.status_code == 403
    assert administration.ask("PUT", f"{path}/{ids['/staff']}", token).status_code == DONE
    assert administration.ask("DELETE", f"{path}/{ids['/staff']}", token).status_code == DONE
    assert administration.ask("GET", path).json() == []


EXECUTOR = {"executor": "secure-session", "configuration": {"a": [1]}}
PROFILE = {"name": "p1", "description": "d", "executors": [EXECUTOR]}
CONDITION = {"condition": "any-client", "configuration": {}}
POLICY = {
    "name": "q1",
    "description": "",
    "enabled": True,
    "conditions": [CONDITION],
    "profiles": ["p1"],
}


def test_profiles_and_policies_are_kept_as_they_were_sent(
    administration: Administration, lively: str
) -> None:
    for path, document in ((PROFILES, {"profiles": [PROFILE]}), (POLICIES, {"policies": [POLICY]})):
        sent = administration.ask("PUT", f"{lively}/{path}", document=document)
        assert sent.status_code == DONE, sent.text
        answer = administration.ask("GET", f"{lively}/{path}")
        assert answer.json() == document
        known = {"If-Match": answer.headers["etag"]}
        again = administration.ask("PUT", f"{lively}/{path}", document=document, headers=known)
        assert again.status_code == DONE
    realm = shown(administration, lively)
    assert realm["clientProfiles"] == {"profiles": [PROFILE]}
    assert realm["clientPolicies"] == {"policies": [POLICY]}
    every = administration.ask("GET", f"{lively}/{PROFILES}?include-global-profiles=true").json()
    assert every["profiles"] == [PROFILE]
    assert every["globalProfiles"] != []
    every = administration.ask("GET", f"{lively}/{POLICIES}?include-global-policies=true").json()
    assert every == {"policies": [POLICY], "globalPolicies": []}
    stale = {"If-Match": '"another"'}
    changed = administration.ask("PUT", f"{lively}/{PROFILES}", document={}, headers=stale)
    assert changed.status_code == 412
    nothing: dict[str, Any] = {PROFILES: {"profiles": []}, POLICIES: {"policies": []}}
    for path, empty in nothing.items():
        assert administration.ask("PUT", f"{lively}/{path}", document={}).status_code == DONE
        assert administration.ask("GET", f"{lively}/{path}").json() == empty


def test_omitted_profile_and_policy_fields_take_defaults(
    administration: Administration, lively: str
) -> None:
    profile = {"profiles": [{"name": "p", "executors": [{"executor": "x"}]}, {"name": "q"}]}
    assert administration.ask("PUT", f"{lively}/{PROFILES}", document=profile).status_code == DONE
    assert administration.ask("GET", f"{lively}/{PROFILES}").json()["profiles"] == [
        {"name": "p", "executors": [{"executor": "x", "configuration": {}}]},
        {"name": "q"},
    ]
    policy = {"policies": [{"name": "q"}]}
    assert administration.ask("PUT", f"{lively}/{POLICIES}", document=policy).status_code == DONE
    assert administration.ask("GET", f"{lively}/{POLICIES}").json()["policies"] == [
        {"name": "q", "enabled": False, "conditions": [], "profiles": []}
    ]


@pytest.mark.parametrize(
    ("path", "document", "text"),
    [
        (PROFILES, {"profiles": [{}]}, "client profile without its name not allowed."),
        (PROFILES, {"profiles": [PROFILE] * 2}, "proposed client profile name duplicated."),
        (PROFILES, {"globalProfiles": [PROFILE]}, "Global profiles cannot be updated"),
        (PROFILES, {"hat": 1}, "ClientProfilesRepresentation. Unrecognized"),
        (PROFILES, {"profiles": [{"name": "a", "hat": 1}]}, "ClientProfileRepresentation. Unreco"),
        (PROFILES, {"profiles": [{"name": "a", "executors": [{"hat": 1}]}]}, "executors[0].hat"),
        (PROFILES, {"profiles": [{"name": "a", "executors": [{}]}]}, "executors[0].executor"),
        (PROFILES, {"profiles": "a"}, "profiles"),
        (PROFILES, {"profiles": ["a"]}, "profiles[0]"),
        (PROFILES, {"profiles": [{"name": []}]}, "name"),
        (POLICIES, {"policies": [{}]}, "client policy without name not allowed"),
        (POLICIES, {"policies": [POLICY] * 2}, "proposed client policy name duplicated"),
        (POLICIES, {"globalPolicies": [POLICY]}, "Global policies cannot be updated"),
        (POLICIES, {"hat": 1}, "ClientPoliciesRepresentation. Unrecognized"),
        (POLICIES, {"policies": [{"name": "a", "hat": 1}]}, "ClientPolicyRepresentation. Unrecog"),
        (POLICIES, {"policies": [{"name": "a", "enabled": "x"}]}, "policies[0].enabled"),
        (POLICIES, {"policies": [{"name": "a", "profiles": [[]]}]}, "policies[0].profiles[0]"),
    ],
)
def test_profiles_and_policies_of_another_shape_are_refused(
    administration: Administration, lively: str, path: str, document: Any, text: str
) -> None:
    before = administration.ask("GET", f"{lively}/{path}").json()
    status, said = told(administration.ask("PUT", f"{lively}/{path}", document=document))
    assert (status, text in said) == (400, True), said
    assert administration.ask("GET", f"{lively}/{path}").json() == before


@pytest.mark.parametrize("path", ["/admin", "/admin/", "/auth/admin/"])
def test_everybody_is_told_where_the_admin_api_is(
    administration: Administration, path: str
) -> None:
    answer = administration.http.get(path)
    assert answer.status_code == OK
    assert "/admin/realms" in answer.text
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert administration.http.post(path).status_code == 405
