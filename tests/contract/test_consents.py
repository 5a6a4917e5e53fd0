"""Consents on both databases. Keycloak: UserConsentModel."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.client_scopes import ClientScope, Consent, RoleBoundScope
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidInput
from gateway.domain.ports.lookups import UserEntry
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.consents import ConsentItem, Consents
from gateway.protocol.scopes import GrantedScopes, RealmScopes
from gateway.storage.sql.database import SqlDatabase
from tests.support.sessions import store_owners
from tests.support.stored_values import NOW, client, user

CONSENT = Consent("demo-id", "alice-uuid", "device-uuid", ("email", "profile"), NOW, NOW)
LATER = NOW + timedelta(minutes=1)


@pytest.fixture
async def stored(database: SqlDatabase) -> SqlDatabase:
    await store_owners(database)
    async with database.write() as stores:
        await stores.consents.put_consent(CONSENT)
    return database


async def test_a_consent_is_stored_and_its_scopes_are_replaced(stored: SqlDatabase) -> None:
    wider = replace(CONSENT, scopes=("email", "phone"), created_at=LATER, updated_at=LATER)
    async with stored.write() as stores:
        assert await stores.consents.find_consent("demo-id", "alice-uuid", "device-uuid") == CONSENT
        await stores.consents.put_consent(wider)
    async with stored.read() as stores:
        found = await stores.consents.find_consent("demo-id", "alice-uuid", "device-uuid")
        assert found == replace(wider, created_at=NOW)


async def test_the_consents_of_a_user_are_listed_oldest_first(stored: SqlDatabase) -> None:
    second = replace(CONSENT, client="browser-uuid", created_at=LATER)
    async with stored.write() as stores:
        await stores.consents.put_consent(second)
        await stores.consents.put_consent(replace(CONSENT, user_id="bob-uuid"))
        assert await stores.consents.of_user("demo-id", "alice-uuid") == (CONSENT, second)
        assert await stores.consents.of_user("other-id", "alice-uuid") == ()


async def test_a_removed_consent_is_gone(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        assert not await stores.consents.remove_consent("demo-id", "bob-uuid", "device-uuid")
        assert await stores.consents.remove_consent("demo-id", "alice-uuid", "device-uuid")
        assert not await stores.consents.remove_consent("demo-id", "alice-uuid", "device-uuid")
        assert await stores.consents.find_consent("demo-id", "alice-uuid", "device-uuid") is None


async def test_a_consent_goes_with_its_client(stored: SqlDatabase) -> None:
    async with stored.write() as stores:
        await stores.clients.remove_client("demo-id", "device-uuid")
        assert await stores.consents.of_user("demo-id", "alice-uuid") == ()


async def test_a_user_of_another_realm_consents_to_nothing(stored: SqlDatabase) -> None:
    with pytest.raises(InvalidInput):
        async with stored.write() as stores:
            await stores.consents.put_consent(replace(CONSENT, user_id="ghost"))


def _scope(name: str, roles: EffectiveRoles | None = None, **attributes: str) -> RoleBoundScope:
    named = {key.replace("_", "."): text for key, text in attributes.items()}
    scope = ClientScope(f"{name}-uuid", "demo-id", name, attributes=named)
    return RoleBoundScope(scope, roles or EffectiveRoles())


SCOPES = (
    _scope("email", consent_screen_text="${emailScopeConsentText}"),
    _scope("plain"),
    _scope("hidden", display_on_consent_screen="false"),
    _scope("of-others", EffectiveRoles(("others",))),
)
GRANTED = GrantedScopes(
    RealmScopes(SCOPES).chosen(("email", "plain", "hidden", "of-others"), ()), openid=True
)
EMAIL, PLAIN = ConsentItem("email", "${emailScopeConsentText}"), ConsentItem("plain", "plain")
ALICE = UserEntry(user("alice"), EffectiveRoles(("user",)))


def _asking() -> Client:
    return replace(client("browser"), consent_required=True)


async def test_a_client_with_consent_required_asks_displayed_scopes(
    stored: SqlDatabase,
) -> None:
    """Not for hidden scopes, nor for those that the user does not get."""
    consents = Consents(stored)
    assert await consents.missing(_asking(), ALICE, GRANTED) == (EMAIL, PLAIN)
    assert not await consents.holds(_asking(), ALICE, GRANTED)
    assert await consents.missing(client("browser"), ALICE, GRANTED) == ()
    assert await consents.holds(client("browser"), ALICE, GRANTED)


async def test_granted_scopes_are_asked_again_only_if_requested(
    stored: SqlDatabase,
) -> None:
    consents = Consents(stored)
    await consents.grant(_asking(), ALICE, GRANTED, NOW)
    assert await consents.missing(_asking(), ALICE, GRANTED) == ()
    assert await consents.holds(_asking(), ALICE, GRANTED)
    assert await consents.missing(_asking(), ALICE, GRANTED, ask_again=True) == (EMAIL, PLAIN)
    bob = UserEntry(user("bob"), EffectiveRoles())
    assert await consents.missing(_asking(), bob, GRANTED) == (EMAIL, PLAIN)


async def test_only_a_new_scope_is_asked_and_joins_the_granted(
    stored: SqlDatabase,
) -> None:
    consents = Consents(stored)
    first = GrantedScopes(RealmScopes(SCOPES).chosen(("email",), ()), openid=True)
    await consents.grant(_asking(), ALICE, first, NOW)
    assert await consents.missing(_asking(), ALICE, GRANTED) == (PLAIN,)
    await consents.grant(_asking(), ALICE, GRANTED, LATER)
    async with stored.read() as stores:
        found = await stores.consents.find_consent("demo-id", "alice-uuid", "browser-uuid")
    assert found is not None
    assert (found.scopes, found.created_at, found.updated_at) == (("email", "plain"), NOW, LATER)


async def test_a_client_asks_for_itself_where_no_scope_is_displayed(stored: SqlDatabase) -> None:
    consents, asking = Consents(stored), _asking()
    hidden = GrantedScopes(RealmScopes(SCOPES).chosen(("hidden",), ()), openid=True)
    assert await consents.missing(asking, ALICE, hidden) == (ConsentItem("", "browser"),)
    await consents.grant(asking, ALICE, hidden, NOW)
    assert await consents.holds(asking, ALICE, hidden)
    assert await consents.missing(asking, ALICE, GRANTED) == (EMAIL, PLAIN)
