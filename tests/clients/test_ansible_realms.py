"""Plays written for Keycloak's realms do the same here. Program: Ansible, community.general."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.support.administered_server import AdministeredServer
from tests.support.ansible import PLAYBOOKS, Ansible, Runs, converged, every_state

SPECIFIED = [
    "id",
    "realm",
    "access_token_lifespan",
    "access_token_lifespan_for_implicit_flow",
    "sso_session_idle_timeout",
    "sso_session_max_lifespan",
    "sso_session_idle_timeout_remember_me",
    "sso_session_max_lifespan_remember_me",
    "offline_session_idle_timeout",
    "offline_session_max_lifespan_enabled",
    "offline_session_max_lifespan",
    "ssl_required",
    "otp_policy_type",
    "otp_policy_algorithm",
    "otp_policy_digits",
    "otp_policy_look_ahead_window",
    "otp_policy_period",
    "events_enabled",
    "events_expiration",
    "admin_events_enabled",
    "admin_events_details_enabled",
    "events_listeners",
    "default_signature_algorithm",
    "browser_security_headers",
    "password_policy",
    "brute_force_protected",
    "max_failure_wait_seconds",
    "failure_factor",
    "wait_increment_seconds",
    "max_delta_time_seconds",
    "quick_login_check_milli_seconds",
    "minimum_quick_login_wait_seconds",
]
"""Every setting of the specification, in its order."""


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _options(file: str) -> dict[str, Any]:
    ((task),) = yaml.safe_load((PLAYBOOKS / file).read_text())
    options: dict[str, Any] = task["community.general.keycloak_realm"]
    return options


@pytest.fixture(scope="module")
def runs(ansible: Ansible) -> Mapping[str, Runs]:
    """Run both at once. Without checks: a module cannot compare lists of scopes and secrets."""
    subjects = {"realm": "specified", "realm_with_every_option": "optioned"}
    return ansible.play(*(every_state(subject, realm) for subject, realm in subjects.items()))


def test_a_realm_with_every_specified_setting_is_created_once(
    runs: Mapping[str, Runs], administered: AdministeredServer
) -> None:
    converged(runs["realm"])
    kept = runs["realm"].of("first run")["end_state"]
    asked = _options("realm.yml") | {"id": "specified-made", "realm": "specified-made"}
    assert {name: kept[_camel(name)] for name in SPECIFIED} == {
        name: asked[name] for name in SPECIFIED
    }
    assert administered.ask("GET", "/specified-made").status_code == 404


def test_a_realm_with_every_option_of_the_module_is_made_once(
    runs: Mapping[str, Runs],
) -> None:
    optioned = runs["realm_with_every_option"]
    converged(optioned)
    asked, kept = (optioned.of("first run")[name] for name in ("proposed", "end_state"))
    of_its_own = {"defaultDefaultClientScopes", "defaultOptionalClientScopes"}
    assert len(asked) > 100
    assert kept["smtpServer"] == asked["smtpServer"] | {"password": "**********"}
    assert asked["attributes"].items() <= kept["attributes"].items()
    plain = asked.keys() - of_its_own - {"smtpServer", "attributes"}
    assert {name: kept[name] for name in plain} == {name: asked[name] for name in plain}
    assert of_its_own.isdisjoint(kept)
