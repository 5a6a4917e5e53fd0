"""Plays written for Keycloak's users, roles and groups do the same here."""

from collections.abc import Iterator, Mapping

import pytest

from tests.support.administered_server import PREPARED, AdministeredServer
from tests.support.ansible import WITH_CHECKS, Ansible, Runs, converged, every_state

_SUBJECTS = (
    *("user", "user_changes", "user_attributes", "group"),
    *("client_rolemapping", "realm_rolemapping", "user_rolemapping"),
)


@pytest.fixture(scope="module")
def runs(
    ansible: Ansible, administered: AdministeredServer, realm: str
) -> Iterator[Mapping[str, Runs]]:
    """Run all of them at once: a start of Ansible costs as much as ten tasks."""
    with administered.realm("ansible-profiles", PREPARED) as own_realm:
        yield ansible.play(
            *(every_state(subject, realm) for subject in _SUBJECTS),
            every_state("role", realm, checks=True),
            every_state("userprofile", own_realm),
        )


def test_a_user_is_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["user"])
    made = runs["user"].of("first run")["end_state"]
    assert made["requiredActions"] == ["UPDATE_PASSWORD"]
    assert made["groups"] == ["staff"]
    assert made["lastName"] == "Hopper"


def test_a_user_is_changed_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["user_changes"])
    changed = runs["user_changes"].of("first run", "names")["end_state"]
    assert (changed["firstName"], changed["enabled"]) == ("Augusta", False)
    assert changed["lastName"] == "Lovelace"
    assert runs["user_changes"].of("first run", "groups")["end_state"]["groups"] == ["staff"]
    assert runs["user_changes"].of("removal", "groups")["end_state"]["groups"] == []


def test_attributes_of_a_user_are_set_and_removed(runs: Mapping[str, Runs]) -> None:
    """Where there are attributes, the module announces a change each time."""
    set_, removed = (
        runs["user_attributes"].of(play)["end_state"]["attributes"]
        for play in ("first run", "removal")
    )
    assert set_ == {"department": ["engines", "poetry"], "phone": ["1"]}
    assert removed == {"phone": ["1"]}


def test_roles_of_a_realm_and_of_a_client_are_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["role"], WITH_CHECKS)
    first = runs["role"].plays["first run"]
    assert first["realm role"]["end_state"]["attributes"] == {
        "level": ["1", "2"],
        "owner": ["somebody"],
    }
    assert first["client role"]["end_state"]["clientRole"] is True
    composites = first["composite role"]["end_state"]["composites"]
    assert {role["name"] for role in composites} == {"reader", "buy"}


def test_groups_and_groups_below_them_are_made_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["group"])
    first = runs["group"].plays["first run"]
    assert first["group"]["end_state"]["attributes"] == {"floor": ["1", "2"], "head": ["somebody"]}
    assert first["group below"]["end_state"]["path"] == "/staff/made-below"


def test_client_roles_are_mapped_to_groups_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["client_rolemapping"])
    mapped = runs["client_rolemapping"].of("first run", "client roles of a group")["end_state"]
    assert sorted(role["name"] for role in mapped) == ["buy", "sell"]


def test_realm_roles_are_mapped_to_groups_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["realm_rolemapping"])
    assert sorted(runs["realm_rolemapping"].of("first run")["end_state"]) == ["reader", "writer"]
    assert runs["realm_rolemapping"].of("removal")["end_state"] == []


def test_roles_are_mapped_to_users_and_service_accounts_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["user_rolemapping"])
    first = runs["user_rolemapping"].plays["first run"]
    of_service = first["client roles of a service account"]["end_state"]
    assert {role["name"] for role in of_service} == {"view-users", "query-users", "query-groups"}
    of_user = first["realm roles of a user"]["end_state"]
    assert {role["name"] for role in of_user} >= {"reader", "writer"}


def test_a_user_profile_is_declared_once(runs: Mapping[str, Runs]) -> None:
    converged(runs["userprofile"])
