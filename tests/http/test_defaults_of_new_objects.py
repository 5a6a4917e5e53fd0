"""What a new client or mapper has that its creator leaves out, on each way in. Keycloak: 7.3, 8.4.

All answers were compared with those of Keycloak 26.7.3.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import ELLIPTIC, Administration

OPENID = {"protocol": "openid-connect"}
MAPPER = {
    "name": "m",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-hardcoded-claim-mapper",
}
LOGOUT = {
    "backchannel.logout.session.required": "true",
    "backchannel.logout.revoke.offline.tokens": "false",
}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm."""
    with administered_realm(administration, "of-defaults", {}) as made:
        yield made


def added(realm: AdministeredRealm, **fields: Any) -> dict[str, Any]:
    """Add a client by the admin API and return it."""
    found: dict[str, Any] = realm.get(f"clients/{realm.change('POST', 'clients', fields)}")
    return found


def registered(realm: AdministeredRealm, **fields: Any) -> dict[str, Any]:
    """Register a client and return it."""
    access = realm.ask("POST", "clients-initial-access", {"count": 1, "expiration": 60}).json()
    response = realm.administration.http.post(
        f"/realms/{realm.name}/clients-registrations/default",
        json=fields,
        headers={"Authorization": f"Bearer {access['token']}"},
    )
    assert response.status_code == 201, response.text
    found: dict[str, Any] = realm.get(f"clients/{response.json()['id']}")
    return found


def imported(realm: AdministeredRealm, **fields: Any) -> dict[str, Any]:
    """Add a client by a partial import and return it."""
    name = "imported"
    document = {"ifResourceExists": "OVERWRITE", "clients": [{"clientId": name, **fields}]}
    realm.change("POST", "partialImport", document)
    (found,) = realm.get(f"clients?clientId={name}")
    assert isinstance(found, dict)
    return found


def in_a_file(realm: AdministeredRealm, **fields: Any) -> dict[str, Any]:
    """Add a client with a new realm and return it."""
    ask, name = realm.administration.ask, "of-defaults-file"
    document = {"realm": name, **ELLIPTIC, "clients": [{"clientId": "imported", **fields}]}
    assert ask("POST", "", document=document).status_code == 201
    (found,) = ask("GET", f"{name}/clients?clientId=imported").json()
    ask("DELETE", name)
    assert isinstance(found, dict)
    return found


BY_REQUEST = pytest.mark.parametrize("make", [added, registered])
BY_FILE = pytest.mark.parametrize("make", [imported, in_a_file])
EVERY_WAY = pytest.mark.parametrize("make", [added, registered, imported, in_a_file])


def shown(client: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a client that are expected."""
    return {name: client.get(name) for name in fields}


@BY_REQUEST
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({}, {"publicClient": True, "directAccessGrantsEnabled": True, "adminUrl": None}),
        ({"publicClient": False}, {"publicClient": False, "directAccessGrantsEnabled": True}),
        ({"bearerOnly": True}, {"publicClient": True, "bearerOnly": True}),
        ({"directAccessGrantsEnabled": False}, {"directAccessGrantsEnabled": False}),
        (
            {"rootUrl": "https://a.test"},
            {
                "adminUrl": "https://a.test",
                "redirectUris": ["https://a.test/*"],
                "webOrigins": ["https://a.test"],
            },
        ),
        (
            {"rootUrl": "https://a.test/x/", "adminUrl": "https://b.test", "webOrigins": ["+"]},
            {
                "adminUrl": "https://b.test",
                "redirectUris": ["https://a.test/x/*"],
                "webOrigins": ["https://a.test"],
            },
        ),
        (
            {"rootUrl": "https://a.test", "redirectUris": ["https://b.test/*"]},
            {"redirectUris": ["https://b.test/*"], "webOrigins": ["https://b.test"]},
        ),
    ],
)
def test_openid_connect_named_as_protocol_gives_its_defaults(
    realm: AdministeredRealm, make: Any, sent: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert shown(make(realm, **OPENID, **sent), expected) == expected


@BY_REQUEST
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (None, LOGOUT),
        ({"backchannel.logout.session.required": "false"}, LOGOUT),
        ({"backchannel.logout.url": "https://a.test/out"}, {}),
        ({"backchannel.logout.url": ""}, {}),
    ],
)
def test_protocol_openid_connect_sets_the_logout_attributes(
    realm: AdministeredRealm, make: Any, attributes: Any, expected: dict[str, str]
) -> None:
    found = make(realm, **OPENID, attributes=attributes)["attributes"]
    assert {name: found[name] for name in LOGOUT if name in found} == expected


@BY_REQUEST
def test_without_a_protocol_there_are_no_defaults_of_one(
    realm: AdministeredRealm, make: Any
) -> None:
    client = make(realm, rootUrl="https://a.test")
    expected: dict[str, Any] = {
        "protocol": "openid-connect",
        "publicClient": False,
        "directAccessGrantsEnabled": False,
        "adminUrl": None,
        "redirectUris": [],
        "webOrigins": [],
    }
    assert shown(client, expected) == expected
    assert not LOGOUT.keys() & client["attributes"].keys()


@BY_FILE
def test_a_file_gets_no_defaults_of_the_protocol(realm: AdministeredRealm, make: Any) -> None:
    client = make(realm, **OPENID, rootUrl="https://a.test")
    expected: dict[str, Any] = {
        "publicClient": False,
        "directAccessGrantsEnabled": False,
        "adminUrl": None,
        "redirectUris": [],
    }
    assert shown(client, expected) == expected
    assert not LOGOUT.keys() & client["attributes"].keys()


@EVERY_WAY
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"consentRequired": True}, {"fullScopeAllowed": False}),
        ({"consentRequired": True, "fullScopeAllowed": True}, {"fullScopeAllowed": True}),
        (
            {"redirectUris": ["https://a.test:8443/x", "/y", "custom:/z"]},
            {"webOrigins": ["https://a.test:8443"]},
        ),
        ({"redirectUris": ["https://a.test/*"], "webOrigins": []}, {"webOrigins": []}),
        (
            {"directGrantsOnly": True},
            {"directAccessGrantsEnabled": True, "standardFlowEnabled": False},
        ),
    ],
)
def test_fields_that_follow_from_others_do_so_on_every_way_in(
    realm: AdministeredRealm, make: Any, sent: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert shown(make(realm, **sent), expected) == expected


def test_web_origins_follow_redirects_only_if_there_were_none(
    realm: AdministeredRealm,
) -> None:
    path = f"clients/{added(realm)['id']}"
    realm.change("PUT", path, {"redirectUris": ["https://a.test/*"]})
    assert realm.get(path)["webOrigins"] == ["https://a.test"]
    realm.change("PUT", path, {"redirectUris": ["https://b.test/*"]})
    assert realm.get(path)["webOrigins"] == ["https://a.test"]


@pytest.mark.parametrize(
    ("mapper_type", "sent", "options"),
    [
        ("oidc-hardcoded-claim-mapper", {}, {}),
        (
            "oidc-hardcoded-claim-mapper",
            {"id.token.claim": "true"},
            {"userinfo.token.claim": "true"},
        ),
        (
            "oidc-hardcoded-claim-mapper",
            {"access.token.claim": "false", "id.token.claim": "true"},
            {"userinfo.token.claim": "true", "introspection.token.claim": "false"},
        ),
        (
            "oidc-audience-resolve-mapper",
            {},
            {"access.token.claim": "true", "introspection.token.claim": "true"},
        ),
        (
            "oidc-allowed-origins-mapper",
            {"access.token.claim": "false"},
            {"introspection.token.claim": "true"},
        ),
    ],
)
def test_a_mapper_gets_the_options_that_follow_from_others(
    realm: AdministeredRealm, mapper_type: str, sent: dict[str, str], options: dict[str, str]
) -> None:
    at = f"clients/{added(realm)['id']}/protocol-mappers/models"
    own = {"claim.name": "c", "claim.value": "v"} if "hardcoded" in mapper_type else {}
    empty = {"multivalued": "", "jsonType.label": None}
    document = {**MAPPER, "protocolMapper": mapper_type, "config": {**own, **sent, **empty}}
    path = f"{at}/{realm.change('POST', at, document)}"
    assert realm.get(path)["config"] == {**own, **sent, **options}
    realm.change("PUT", path, document)
    assert realm.get(path)["config"] == {**own, **sent, **options}


@EVERY_WAY
def test_a_mapper_of_a_new_client_gets_the_userinfo_option_only(
    realm: AdministeredRealm, make: Any
) -> None:
    sent = {"claim.name": "c", "id.token.claim": "true", "access.token.claim": "true"}
    document = {**MAPPER, "protocolMapper": "oidc-full-name-mapper", "config": sent}
    (mapper,) = make(realm, protocolMappers=[document])["protocolMappers"]
    assert mapper["config"] == {**sent, "userinfo.token.claim": "true"}
