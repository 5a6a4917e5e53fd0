"""Plays written for Keycloak's users, roles and groups do the same here."""

from tests.support.ansible import WITH_CHECKS, Ansible, converged


def test_a_user_is_made_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("user", realm)
    converged(runs)
    made = runs.of("first run")["end_state"]
    assert made["requiredActions"] == ["UPDATE_PASSWORD"]
    assert made["groups"] == ["staff"]
    assert made["lastName"] == "Hopper"


def test_a_user_is_changed_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("user_changes", realm)
    converged(runs)
    changed = runs.of("first run", "names")["end_state"]
    assert (changed["firstName"], changed["enabled"]) == ("Augusta", False)
    assert changed["lastName"] == "Lovelace"
    assert runs.of("first run", "groups")["end_state"]["groups"] == ["staff"]
    assert runs.of("removal", "groups")["end_state"]["groups"] == []


def test_attributes_of_a_user_are_set_and_removed(ansible: Ansible, realm: str) -> None:
    """Where there are attributes, the module announces a change each time."""
    runs = ansible.every_state("user_attributes", realm)
    set_, removed = (runs.of(play)["end_state"]["attributes"] for play in ("first run", "removal"))
    assert set_ == {"department": ["engines", "poetry"], "phone": ["1"]}
    assert removed == {"phone": ["1"]}


def test_roles_of_a_realm_and_of_a_client_are_made_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("role", realm, checks=True)
    converged(runs, WITH_CHECKS)
    first = runs.plays["first run"]
    assert first["realm role"]["end_state"]["attributes"] == {
        "level": ["1", "2"],
        "owner": ["somebody"],
    }
    assert first["client role"]["end_state"]["clientRole"] is True
    composites = first["composite role"]["end_state"]["composites"]
    assert {role["name"] for role in composites} == {"reader", "buy"}


def test_groups_and_groups_below_them_are_made_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("group", realm)
    converged(runs)
    first = runs.plays["first run"]
    assert first["group"]["end_state"]["attributes"] == {"floor": ["1", "2"], "head": ["somebody"]}
    assert first["group below"]["end_state"]["path"] == "/staff/made-below"


def test_client_roles_are_mapped_to_groups_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("client_rolemapping", realm)
    converged(runs)
    mapped = runs.of("first run", "client roles of a group")["end_state"]
    assert sorted(role["name"] for role in mapped) == ["buy", "sell"]


def test_realm_roles_are_mapped_to_groups_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("realm_rolemapping", realm)
    converged(runs)
    assert sorted(runs.of("first run")["end_state"]) == ["reader", "writer"]
    assert runs.of("removal")["end_state"] == []


def test_roles_are_mapped_to_users_and_service_accounts_once(ansible: Ansible, realm: str) -> None:
    runs = ansible.every_state("user_rolemapping", realm)
    converged(runs)
    first = runs.plays["first run"]
    of_service = first["client roles of a service account"]["end_state"]
    assert {role["name"] for role in of_service} == {"view-users", "query-users", "query-groups"}
    of_user = first["realm roles of a user"]["end_state"]
    assert {role["name"] for role in of_user} >= {"reader", "writer"}


def test_a_user_profile_is_declared_once(ansible: Ansible, own_realm: str) -> None:
    converged(ansible.every_state("userprofile", own_realm))
