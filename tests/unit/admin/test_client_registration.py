"""What a changed client is given, and what is taken from it. Keycloak: 7.4 (PUT clients/{id})."""

from dataclasses import replace
from datetime import UTC, datetime

from gateway.admin.clients.preparation import changed_client
from gateway.domain.clients.client import Client
from tests.support.set_clock import SetClock

CLOCK = SetClock(datetime(2026, 11, 20, tzinfo=UTC))
PLAIN = Client("id", "demo", "app", public_client=True, default_client_scopes=("basic", "roles"))
ACCOUNT = replace(
    PLAIN,
    service_accounts_enabled=True,
    default_client_scopes=("basic", "service_account", "roles"),
)


def test_a_disabled_service_account_takes_only_its_own_scope() -> None:
    changed = changed_client(replace(ACCOUNT, service_accounts_enabled=False), ACCOUNT, CLOCK)
    assert changed.default_client_scopes == ("basic", "roles")


def test_an_enabled_service_account_adds_its_scope_once() -> None:
    on = changed_client(replace(PLAIN, service_accounts_enabled=True), PLAIN, CLOCK)
    assert on.default_client_scopes == ("basic", "roles", "service_account")
    assert changed_client(ACCOUNT, PLAIN, CLOCK) == ACCOUNT


def test_scopes_stay_as_they_are_where_the_service_account_does() -> None:
    without = replace(ACCOUNT, default_client_scopes=("basic",))
    assert changed_client(without, ACCOUNT, CLOCK).default_client_scopes == ("basic",)
    with_it = replace(ACCOUNT, service_accounts_enabled=False)
    assert changed_client(with_it, with_it, CLOCK) == with_it
