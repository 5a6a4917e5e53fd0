"""/admin/realms/{realm}/events, .../events/config and .../admin-events. Keycloak: 10.5."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from gateway.domain.events import ALL_NAMES, SAVED_BY_DEFAULT
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.recorded_realm import RECORDED, Recorded

CONFIG = "events/config"
_TODAY = datetime.now(UTC).date()
_DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with people who may look at events, change them, or neither."""
    roles = {"viewer": ["view-events"], "manager": ["manage-events"], "stranger": ["manage-realm"]}
    with administered_realm(administration, "looked-at", roles, **RECORDED) as made:
        yield made


@pytest.fixture
def recorded(realm: AdministeredRealm) -> Recorded:
    """Return the realm with three user events: a service account, its failure, and john."""
    found = Recorded(realm)
    form = {"grant_type": "client_credentials"}
    found.user_id("john")
    found.post("token", form)
    found.post("token", form | {"client_secret": "wrong"})
    sign_in = {"grant_type": "password", "username": "john", "password": PASSWORD}
    found.post("token", sign_in | {"client_id": "other"})
    return found


def _types(realm: AdministeredRealm, query: str = "") -> list[str]:
    return [event["type"] for event in realm.get(f"events{query}")]


_ALL = ["LOGIN", "CLIENT_LOGIN_ERROR", "CLIENT_LOGIN"]


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("", _ALL),
        ("?unknown=1", _ALL),
        ("?type=LOGIN", ["LOGIN"]),
        ("?type=LOGIN&type=CLIENT_LOGIN", ["LOGIN", "CLIENT_LOGIN"]),
        ("?type=", _ALL),
        ("?" + "&".join(f"type={name}" for name in ALL_NAMES), _ALL),
        ("?client=svc", ["CLIENT_LOGIN_ERROR", "CLIENT_LOGIN"]),
        ("?client=", _ALL),
        ("?client=SVC", []),
        ("?client=%25", []),
        ("?client=%F0%9F%98%80", []),
        ("?user=nobody", []),
        ("?ipAddress=203.0.113.9", _ALL),
        ("?ipAddress=203.0.113.", []),
        ("?client=svc&type=CLIENT_LOGIN&ipAddress=203.0.113.9", ["CLIENT_LOGIN"]),
        ("?direction=asc", _ALL[::-1]),
        ("?direction=desc", _ALL),
        ("?direction=", _ALL),
        ("?first=1", _ALL[1:]),
        ("?max=1", _ALL[:1]),
        ("?first=1&max=1", _ALL[1:2]),
        ("?first=9", []),
        ("?max=0", []),
        ("?max=-1", _ALL),
        ("?max=2147483647", _ALL),
        ("?first=-1", _ALL),
        ("?max=", _ALL),
        (f"?dateFrom={_TODAY}", _ALL),
        (f"?dateTo={_TODAY}", _ALL),
        (f"?dateFrom={_TODAY + _DAY}", []),
        (f"?dateTo={_TODAY - _DAY}", []),
        ("?dateFrom=0", _ALL),
        ("?dateFrom=%2B5", _ALL),
        ("?dateTo=0", []),
        ("?dateTo=99999999999999", _ALL),
        ("?dateTo=9223372036854775807", _ALL),
        ("?dateFrom=9223372036854775807", []),
        ("?dateTo=9999-12-31", _ALL),
        ("?dateFrom=0001-01-01", _ALL),
        ("?dateFrom=", _ALL),
    ],
)
def test_events_are_found_by_each_filter(recorded: Recorded, query: str, types: list[str]) -> None:
    assert _types(recorded.realm, query) == types


def test_events_are_found_by_whose_they_are(recorded: Recorded) -> None:
    assert _types(recorded.realm, f"?user={recorded.names['john']}") == ["LOGIN"]


def test_periods_include_the_milliseconds_of_both_ends(
    recorded: Recorded,
) -> None:
    [event] = recorded.realm.get("events?max=1")
    time = event["time"]
    for query in (f"dateFrom={time}&dateTo={time}", f"dateFrom={time}", f"dateTo={time}"):
        assert event in recorded.realm.get(f"events?{query}")
    assert event not in recorded.realm.get(f"events?dateFrom={time + 1}")
    assert event not in recorded.realm.get(f"events?dateTo={time - 1}")


_DIRECTION = "Invalid value for sortDirection, expected value is asc or desc"


def _date(name: str) -> str:
    return f"Invalid value for '{name}', expected format is yyyy-MM-dd or an Epoch timestamp"


@pytest.mark.parametrize("events", ["events", "admin-events"])
@pytest.mark.parametrize(
    ("query", "status", "error"),
    [
        ("direction=up", 400, _DIRECTION),
        ("direction=ASC", 400, _DIRECTION),
        ("dateFrom=x", 400, _date("dateFrom")),
        ("dateFrom=-1", 400, _date("dateFrom")),
        ("dateFrom=2026-1-2", 400, _date("dateFrom")),
        ("dateFrom=2026-02-30", 400, _date("dateFrom")),
        ("dateFrom=2026-13-01", 400, _date("dateFrom")),
        ("dateFrom=2026-11-20T00:00:00Z", 400, _date("dateFrom")),
        ("dateFrom=%D9%A1%D9%A2", 400, _date("dateFrom")),
        ("dateTo=99999999999999999999999", 400, _date("dateTo")),
        ("dateTo=x", 400, _date("dateTo")),
        ("first=x", 404, "HTTP 404 Not Found"),
        ("max=x", 404, "HTTP 404 Not Found"),
        ("max=2147483648", 404, "HTTP 404 Not Found"),
        ("first=99999999999", 404, "HTTP 404 Not Found"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    realm: AdministeredRealm, events: str, query: str, status: int, error: str
) -> None:
    assert realm.refused("GET", f"{events}?{query}") == (status, {"error": error})


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("events?type=NONSENSE", "type"),
        ("events?type=LOGIN,LOGOUT", "type"),
        ("events?type=login", "type"),
        ("admin-events?operationTypes=NONSENSE", "operationTypes"),
        ("admin-events?resourceTypes=NONSENSE", "resourceTypes"),
    ],
)
def test_a_kind_that_there_is_not_is_refused(
    realm: AdministeredRealm, path: str, name: str
) -> None:
    """Keycloak answers 500."""
    assert realm.refused("GET", path) == (400, {"error": f"Invalid value for '{name}'"})


def test_a_path_that_would_take_long_to_compare_is_refused(realm: AdministeredRealm) -> None:
    status, _ = realm.refused("GET", "admin-events?resourcePath=a*b*c*d*e*f*g")
    assert status == 400


def test_events_are_removed_and_their_removal_is_no_event(recorded: Recorded) -> None:
    realm = recorded.realm
    realm.change("DELETE", "admin-events")
    realm.change("DELETE", "events")
    assert realm.get("events") == []
    assert realm.get("admin-events") == []


def test_removing_events_of_one_realm_leaves_those_of_another(
    recorded: Recorded, administration: Administration
) -> None:
    with administered_realm(administration, "quiet", {}) as other:
        other.change("POST", "roles", {"name": "reader"})
        recorded.realm.change("DELETE", "admin-events")
        other.change("DELETE", "events")
        assert len(other.get("admin-events")) == 1
        assert _types(recorded.realm) == _ALL


def test_a_sign_in_is_among_the_events_at_once(realm: AdministeredRealm) -> None:
    recorded = Recorded(realm)
    recorded.events()
    for number in range(10):
        recorded.post("token", {"grant_type": "client_credentials"})
        assert len(realm.get("events")) == number + 1


@pytest.fixture(scope="module")
def administered(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with five admin events."""
    with administered_realm(administration, "administered", {}) as made:
        for name in ("a", "b_", "c%"):
            made.change("POST", "roles", {"name": name})
        made.change("POST", "clients", {"clientId": "passing"})
        made.change("POST", "users", {"username": "passing"})
        yield made


def _operations(realm: AdministeredRealm, query: str = "") -> list[str]:
    events = realm.get(f"admin-events{query}")
    return [event["resourceType"] + " " + event.get("resourcePath", "")[:9] for event in events]


def test_an_admin_event_has_keycloaks_members_in_order(administered: AdministeredRealm) -> None:
    event = administered.get("admin-events?resourcePath=roles/a")[0]
    assert list(event) == [
        *("id", "time", "realmId", "authDetails", "operationType", "resourceType"),
        *("resourcePath", "representation"),
    ]
    assert list(event["authDetails"]) == ["realmId", "clientId", "userId", "ipAddress"]
    assert (event["operationType"], event["resourceType"]) == ("CREATE", "REALM_ROLE")
    assert event["authDetails"]["ipAddress"] == "203.0.113.9"
    assert event["realmId"] != event["authDetails"]["realmId"]


_ROLES = ["REALM_ROLE roles/c%", "REALM_ROLE roles/b_", "REALM_ROLE roles/a"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?operationTypes=CREATE&resourceTypes=REALM_ROLE", _ROLES),
        ("?operationTypes=DELETE", []),
        ("?operationTypes=CREATE&operationTypes=DELETE&max=5&resourcePath=roles/*", _ROLES),
        ("?resourceTypes=ORGANIZATION", []),
        ("?resourcePath=roles/a", _ROLES[2:]),
        ("?resourcePath=roles/*", _ROLES),
        ("?resourcePath=*/a", _ROLES[2:]),
        ("?resourcePath=r*/a", _ROLES[2:]),
        ("?resourcePath=roles", []),
        ("?resourcePath=ROLES/*", []),
        ("?resourcePath=roles/_*", []),
        ("?resourcePath=ro%25", []),
        ("?resourcePath=*%25", _ROLES[:1]),
        ("?resourcePath=*_", _ROLES[1:2]),
        ("?resourcePath=roles/*&direction=asc&first=1&max=1", _ROLES[1:2]),
        ("?authRealm=nowhere", []),
        ("?authClient=root", []),
        ("?authUser=nobody", []),
        ("?authIpAddress=203.0.113.9&resourceTypes=REALM_ROLE", _ROLES),
        ("?authIpAddress=203.*", []),
        (f"?dateFrom={_TODAY}&dateTo={_TODAY}&resourceTypes=REALM_ROLE", _ROLES),
        (f"?dateFrom={_TODAY + _DAY}", []),
    ],
)
def test_admin_events_are_found_by_each_filter(
    administered: AdministeredRealm, query: str, found: list[str]
) -> None:
    assert _operations(administered, query) == found


def test_admin_events_are_found_by_who_acted(administered: AdministeredRealm) -> None:
    auth = administered.get("admin-events?max=1")[0]["authDetails"]
    for query in ("authRealm={realmId}", "authClient={clientId}", "authUser={userId}"):
        assert len(administered.get(f"admin-events?{query.format(**auth)}")) == 5


_DEFAULTS = {
    "eventsEnabled": False,
    "eventsListeners": ["jboss-logging"],
    "enabledEventTypes": list(SAVED_BY_DEFAULT),
    "adminEventsEnabled": False,
    "adminEventsDetailsEnabled": False,
}


@pytest.fixture
def plain(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with the configuration that every new one has."""
    off = {"adminEventsEnabled": False, "adminEventsDetailsEnabled": False}
    with administered_realm(administration, "plain", {}, **off) as made:
        yield made


def test_a_new_realm_records_nothing(plain: AdministeredRealm) -> None:
    config = plain.get(CONFIG)
    assert config == _DEFAULTS
    assert list(config) == list(_DEFAULTS)
    assert plain.get("")["enabledEventTypes"] == []


@pytest.mark.parametrize(
    ("sent", "changed"),
    [
        ({}, {}),
        ({"eventsEnabled": True, "eventsExpiration": 60}, None),
        ({"eventsEnabled": "true"}, {"eventsEnabled": True}),
        ({"eventsExpiration": 60}, None),
        ({"eventsExpiration": 0}, {}),
        ({"enabledEventTypes": ["LOGIN", "LOGIN_ERROR"]}, None),
        (
            {"enabledEventTypes": ["LOGIN", "NOT_A_TYPE", "LOGIN"]},
            {
                "enabledEventTypes": ["LOGIN", "NOT_A_TYPE"],
            },
        ),
        ({"enabledEventTypes": []}, {}),
        ({"eventsListeners": []}, None),
        ({"eventsListeners": ["jboss-logging", "jboss-logging"]}, {}),
        ({"adminEventsEnabled": True, "adminEventsDetailsEnabled": True}, None),
    ],
)
def test_the_configuration_is_changed(
    plain: AdministeredRealm, sent: dict[str, Any], changed: dict[str, Any] | None
) -> None:
    plain.change("PUT", CONFIG, sent)
    assert plain.get(CONFIG) == _DEFAULTS | (sent if changed is None else changed)


def test_what_is_not_sent_is_switched_off_or_stays(plain: AdministeredRealm) -> None:
    """Keycloak: the switch and the expiration are replaced, the rest is merged."""
    sent = {
        "eventsEnabled": True,
        "eventsExpiration": 77,
        "eventsListeners": [],
        "enabledEventTypes": ["LOGIN"],
        "adminEventsEnabled": True,
        "adminEventsDetailsEnabled": True,
    }
    plain.change("PUT", CONFIG, sent)
    stays = {name: value for name, value in sent.items() if name != "eventsExpiration"}
    for nothing in ({}, dict.fromkeys(sent)):
        plain.change("PUT", CONFIG, nothing)
        assert plain.get(CONFIG) == stays | {"eventsEnabled": False}


def test_a_configuration_that_is_put_back_changes_nothing(plain: AdministeredRealm) -> None:
    listeners = ["email", "of-another-time"]
    with administered_realm(
        plain.administration, "listeners", {}, eventsListeners=listeners
    ) as brought:
        before = brought.get(CONFIG)
        assert before["eventsListeners"] == listeners
        brought.change("PUT", CONFIG, before)
        brought.change("PUT", "", {"eventsListeners": listeners})
        assert brought.get(CONFIG) == before


_REFUSED = [
    ({"eventsListeners": ["nope"]}, "Unknown event listener"),
    ({"eventsListeners": [""]}, "Unknown event listener"),
    ({"eventsListeners": ["email", "e-mail"]}, "Unknown event listener"),
]


@pytest.mark.parametrize(("sent", "error"), _REFUSED)
def test_an_unknown_listener_refuses_the_whole_change(
    plain: AdministeredRealm, sent: dict[str, Any], error: str
) -> None:
    document = {"eventsEnabled": True, "eventsExpiration": 7, "adminEventsEnabled": True, **sent}
    for path in (CONFIG, ""):
        assert plain.refused("PUT", path, document) == (400, {"error": error})
    assert plain.get(CONFIG) == _DEFAULTS


@pytest.mark.parametrize(
    "sent",
    [
        {"eventsEnabled": "yes"},
        {"eventsExpiration": -5},
        {"eventsExpiration": 99999999999999999999},
        {"eventsExpiration": "x"},
        {"eventsListeners": "email"},
        {"eventsListeners": [None]},
        {"enabledEventTypes": "LOGIN"},
        {"enabledEventTypes": [1, {}]},
        {"foo": 1},
        [],
        "text",
        7,
        None,
    ],
)
def test_a_configuration_that_is_none_is_refused(plain: AdministeredRealm, sent: object) -> None:
    answer = plain.administration.ask("PUT", f"plain/{CONFIG}", document=sent)
    assert answer.status_code == httpx2.codes.BAD_REQUEST
    assert plain.get(CONFIG) == _DEFAULTS


def test_an_unknown_field_is_refused_in_keycloaks_words(plain: AdministeredRealm) -> None:
    status, answer = plain.refused("PUT", CONFIG, {"foo": 1})
    assert status == 400
    assert answer["error"].startswith(
        "Invalid json representation for RealmEventsConfigRepresentation. Unrecognized field"
    )


def test_switching_admin_events_on_or_off_is_recorded(
    plain: AdministeredRealm,
) -> None:
    on = {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True}
    for sent in ({}, on, {"eventsEnabled": True}, {"adminEventsEnabled": False}, {}):
        plain.change("PUT", CONFIG, sent)
    events = plain.get("admin-events?direction=asc")
    told = [(event["operationType"], event["resourcePath"]) for event in events]
    assert told == [("UPDATE", CONFIG)] * 3
    assert [event["representation"] for event in events] == [
        '{"adminEventsEnabled":true,"adminEventsDetailsEnabled":true}',
        '{"eventsEnabled":true}',
        '{"adminEventsEnabled":false}',
    ]


def test_a_change_counts_from_the_next_request_on(realm: AdministeredRealm) -> None:
    recorded, form = Recorded(realm), {"grant_type": "client_credentials"}
    recorded.events()
    for sent, number in (
        ({"eventsEnabled": True, "enabledEventTypes": ["LOGIN"]}, 0),
        ({"eventsEnabled": True, "enabledEventTypes": ["CLIENT_LOGIN"]}, 1),
        ({"eventsEnabled": False}, 1),
        ({"eventsEnabled": True, "enabledEventTypes": []}, 2),
    ):
        realm.change("PUT", CONFIG, sent)
        recorded.post("token", form)
        assert len(realm.get("events")) == number
    realm.change("PUT", CONFIG, {"eventsEnabled": True, "enabledEventTypes": list(ALL_NAMES)})


def test_a_concurrently_changed_configuration_is_kept(
    plain: AdministeredRealm,
) -> None:
    tag = plain.ask("GET", CONFIG).headers["etag"]
    headers = {"If_Match": tag}
    assert plain.ask("PUT", CONFIG, {"eventsEnabled": True}, **headers).status_code == 204
    assert plain.ask("PUT", CONFIG, {"eventsEnabled": False}, **headers).status_code == 412
    assert plain.get(CONFIG)["eventsEnabled"] is True


@pytest.mark.parametrize(
    ("method", "path", "may"),
    [
        ("GET", CONFIG, {"viewer", "manager"}),
        ("GET", "events", {"viewer", "manager"}),
        ("GET", "admin-events", {"viewer", "manager"}),
        ("DELETE", "events", {"manager"}),
        ("DELETE", "admin-events", {"manager"}),
        ("PUT", CONFIG, {"manager"}),
    ],
)
def test_who_may(realm: AdministeredRealm, method: str, path: str, may: set[str]) -> None:
    document = {**RECORDED, **realm.get(CONFIG)} if method == "PUT" else None
    config = None if document is None else {name: document[name] for name in realm.get(CONFIG)}
    allowed = {
        name
        for name in ("viewer", "manager", "stranger")
        if realm.ask(method, path, config, by=name).is_success
    }
    assert allowed == may


def test_secrets_of_changes_are_not_among_the_events(realm: AdministeredRealm) -> None:
    client = realm.change("POST", "clients", {"clientId": "hidden", "secret": "secret-canary"})
    realm.change("PUT", f"clients/{client}", {"clientId": "hidden", "secret": "second-canary"})
    realm.change("DELETE", f"clients/{client}")
    user = realm.change(
        "POST",
        "users",
        {"username": "hidden", "credentials": [{"type": "password", "value": "pass-canary"}]},
    )
    password = {"type": "password", "value": "other-canary"}
    realm.change("PUT", f"users/{user}/reset-password", password)
    realm.change("DELETE", f"users/{user}")
    realm.change("PUT", "", {"smtpServer": {"from": "a@mail.test", "password": "mail-canary"}})
    text = realm.ask("GET", "admin-events").text
    assert "hidden" in text
    assert "canary" not in text
    assert SECRET not in text
