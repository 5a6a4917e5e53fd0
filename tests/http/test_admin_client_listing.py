"""Finding clients over the admin API. Keycloak: GET clients."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

ADMINISTRATORS = {
    "viewer": ["view-clients"],
    "seeker": ["query-clients"],
    "maker": ["create-client"],
    "manager": ["manage-clients"],
    "nobody": [],
}
BUILT_IN = (
    *("account", "account-console", "admin-cli", "broker", "realm-management"),
    "security-admin-console",
)
CLIENTS: tuple[dict[str, Any], ...] = (
    {"clientId": "Alpha", "attributes": {"team": "blue"}},
    {"clientId": "alphabet", "attributes": {"team": "red", "a b": "c d"}},
    {"clientId": "be_ta", "attributes": {"team": "red"}},
    {"clientId": "beta%"},
)
NAMES = sorted([*(client["clientId"] for client in CLIENTS), *BUILT_IN, *ADMINISTRATORS])


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with some clients."""
    clients = [{"enabled": True, **client} for client in CLIENTS]
    with administered_realm(
        administration, "of-listed-clients", ADMINISTRATORS, clients=clients
    ) as made:
        yield made


def found(realm: AdministeredRealm, **query: str) -> list[str]:
    return [client["clientId"] for client in realm.get(f"clients?{urlencode(query)}")]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, NAMES),
        ({"clientId": "Alpha"}, ["Alpha"]),
        ({"clientId": "alpha"}, []),
        ({"clientId": "alph"}, []),
        ({"clientId": "alph", "search": "true"}, ["Alpha", "alphabet"]),
        ({"clientId": "ALPH", "search": "True"}, ["Alpha", "alphabet"]),
        ({"clientId": "alph", "search": "maybe"}, []),
        ({"clientId": "_ta", "search": "true"}, ["be_ta"]),
        ({"clientId": "%", "search": "true"}, ["beta%"]),
        ({"clientId": "*", "search": "true"}, []),
        ({"clientId": "", "search": "true"}, NAMES),
        ({"clientId": ""}, NAMES),
        ({"viewableOnly": "true"}, NAMES),
        ({"q": "team:red"}, ["alphabet", "be_ta"]),
        ({"q": 'team:red "a b":"c d"'}, ["alphabet"]),
        ({"q": "team:re"}, []),
        ({"q": "team:red", "clientId": "alph", "search": "true"}, ["alphabet"]),
        ({"q": "team"}, NAMES),
        ({"unknown": "x"}, NAMES),
        ({"first": "1", "max": "2"}, NAMES[1:3]),
        ({"first": "-1", "max": "2"}, NAMES[:2]),
        ({"max": "-1"}, NAMES),
        ({"max": "0"}, []),
        ({"first": "99"}, []),
        ({"clientId": "Alpha", "first": "1", "max": "0"}, ["Alpha"]),
    ],
)
def test_filters_narrow_and_pages_part(
    realm: AdministeredRealm, query: dict[str, str], names: list[str]
) -> None:
    assert found(realm, **query) == names


@pytest.mark.parametrize("page", ["first=x", "max=1.5", "first=99999999999"])
def test_a_page_that_is_no_number_does_not_exist(realm: AdministeredRealm, page: str) -> None:
    refusal = (404, {"error": "HTTP 404 Not Found"})
    assert realm.refused("GET", f"clients?{page}") == refusal


def test_a_search_for_many_attributes_is_refused(realm: AdministeredRealm) -> None:
    query = urlencode({"q": " ".join(f"a{number}:x" for number in range(11))})
    assert realm.refused("GET", f"clients?{query}")[0] == 400
    assert realm.get(f"clients?{query.rpartition('+')[0]}") == []


@pytest.mark.parametrize("query", ["clientId=%00&search=true", "q=%ed%a0%80:x", "clientId=%ff"])
def test_a_query_that_is_no_text_is_refused(realm: AdministeredRealm, query: str) -> None:
    assert realm.refused("GET", f"clients?{query}")[0] == 400


def test_whoever_may_view_clients_sees_what_may_be_done_to_them(realm: AdministeredRealm) -> None:
    seen = {}
    for by in ("viewer", "manager"):
        (client,) = realm.get("clients?clientId=Alpha")
        (seen[by],) = realm.get("clients?clientId=Alpha", by=by)
        may = by == "manager"
        assert seen[by].pop("access") == {"view": True, "configure": may, "manage": may}
        del client["access"]
        assert seen[by] == client
        assert realm.get(f"clients/{client['id']}", by=by)["secret"] == client["secret"]


def test_whoever_may_only_query_clients_sees_none(realm: AdministeredRealm) -> None:
    (client,) = realm.get("clients?clientId=Alpha")
    assert realm.get("clients", by="seeker") == []
    assert realm.get("clients?clientId=Alpha", by="seeker") == []
    forbidden = (403, {"error": "HTTP 403 Forbidden"})
    assert realm.refused("GET", f"clients/{client['id']}", by="seeker") == forbidden
    missing = (404, {"error": "Could not find client"})
    assert realm.refused("GET", "clients/nobody", by="seeker") == missing


@pytest.mark.parametrize("by", ["maker", "nobody"])
def test_nobody_else_sees_clients(realm: AdministeredRealm, by: str) -> None:
    forbidden = (403, {"error": "HTTP 403 Forbidden"})
    assert realm.refused("GET", "clients", by=by) == forbidden
    assert realm.refused("GET", "clients/nobody", by=by) == forbidden


@pytest.mark.parametrize("by", ["viewer", "seeker", "maker", "nobody"])
def test_only_managers_change_clients(realm: AdministeredRealm, by: str) -> None:
    (client,) = realm.get("clients?clientId=Alpha")
    path = f"clients/{client['id']}"
    for method, at in (("POST", "clients"), ("PUT", path), ("DELETE", path)):
        document = None if method == "DELETE" else {"clientId": "by-nobody"}
        assert realm.refused(method, at, document, by=by)[0] == 403
    assert realm.get(path) == client
    assert found(realm, clientId="by-nobody") == []
