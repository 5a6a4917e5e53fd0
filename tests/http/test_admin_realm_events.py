"""What administrators do to a realm is recorded, without its secrets. Keycloak: 10.4."""

import json
from collections.abc import Iterator

import pytest

from tests.support.administration import Administration
from tests.support.made_realms import DONE, make, put
from tests.support.recorded_changes import recorded_changes

DETAILS = {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True}
NAME = "observed"


@pytest.fixture(scope="module", autouse=True)
def _observed(administration: Administration) -> Iterator[None]:
    """Make a realm whose changes are recorded, and let `master` record those of realms."""
    assert put(administration, "master", DETAILS) == DONE
    make(administration, NAME, **DETAILS, groups=[{"id": "the-group", "name": "staff"}])
    yield
    administration.ask("DELETE", NAME)
    assert put(administration, "master", dict.fromkeys(DETAILS, False)) == DONE


def last(administration: Administration, realm: str = NAME) -> tuple[str, str, str | None, object]:
    operation, resource, path, text = recorded_changes(administration, realm)[-1]
    return operation, resource, path, None if text is None else json.loads(text)


@pytest.mark.parametrize(
    ("method", "path", "document", "event"),
    [
        ("POST", "/logout-all", None, ("ACTION", "REALM", "logout-all", {})),
        ("POST", "/push-revocation", None, ("ACTION", "REALM", "push-revocation", {})),
        ("POST", "/clear-realm-cache", None, ("ACTION", "REALM", "clear-realm-cache", None)),
        ("POST", "/clear-user-cache", None, ("ACTION", "REALM", "clear-user-cache", None)),
        ("POST", "/clear-keys-cache", None, ("ACTION", "REALM", "clear-keys-cache", None)),
        (
            "PUT",
            "/default-groups/the-group",
            None,
            ("CREATE", "GROUP", "default-groups/the-group", None),
        ),
        (
            "DELETE",
            "/default-groups/the-group",
            None,
            ("DELETE", "GROUP", "default-groups/the-group", None),
        ),
        (
            "PUT",
            "/client-policies/profiles",
            {"profiles": []},
            ("UPDATE", "REALM", "client-policies/profiles", {"profiles": []}),
        ),
        (
            "PUT",
            "",
            {
                "displayName": "x",
                "smtpServer": {"host": "h", "from": "a@mail.test", "password": "mail-canary"},
            },
            (
                "UPDATE",
                "REALM",
                None,
                {
                    "displayName": "x",
                    "smtpServer": {"host": "h", "from": "a@mail.test", "password": "**********"},
                },
            ),
        ),
    ],
)
def test_each_change_of_a_realm_is_recorded(
    administration: Administration,
    method: str,
    path: str,
    document: object,
    event: tuple[object, ...],
) -> None:
    answer = administration.ask(method, f"{NAME}{path}", document=document)
    assert answer.is_success, answer.text
    assert last(administration) == event


def test_an_ended_session_is_recorded(administration: Administration) -> None:
    before = recorded_changes(administration, NAME)
    assert administration.ask("DELETE", f"{NAME}/sessions/nobody").status_code == 404
    assert recorded_changes(administration, NAME) == before


def test_master_records_created_and_removed_realms(
    administration: Administration,
) -> None:
    make(administration, "brief", users=[{"username": "eve", "credentials": [{"value": "pw-can"}]}])
    operation, resource, path, document = last(administration, "master")
    assert (operation, resource, path) == ("CREATE", "REALM", "brief")
    assert isinstance(document, dict)
    assert document["realm"] == "brief"
    assert "pw-can" not in json.dumps(document)
    assert administration.ask("DELETE", "brief").status_code == DONE
    assert last(administration, "master") == ("DELETE", "REALM", "brief", None)


def test_what_was_refused_is_not_recorded(administration: Administration) -> None:
    before = recorded_changes(administration, NAME)
    assert put(administration, NAME, {"enabled": "x"}) == 400
    assert put(administration, NAME, {}, {"If-Match": '"x"'}) == 412
    assert administration.ask("PUT", f"{NAME}/default-groups/nobody").status_code == 404
    assert recorded_changes(administration, NAME) == before


def test_switching_the_record_off_is_recorded_still(administration: Administration) -> None:
    assert put(administration, NAME, {"adminEventsEnabled": False}) == DONE
    count = len(recorded_changes(administration, NAME))
    assert last(administration)[:3] == ("UPDATE", "REALM", None)
    assert put(administration, NAME, {"displayName": "unseen"}) == DONE
    assert len(recorded_changes(administration, NAME)) == count
    assert put(administration, NAME, {"adminEventsEnabled": True}) == DONE
    assert len(recorded_changes(administration, NAME)) == count + 1
