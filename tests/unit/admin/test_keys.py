"""An operator rotates keys without a failed verification, and disables one at once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.admin.access import operator
from gateway.admin.changes import Changes
from gateway.admin.key_rotation import PUBLISH_FOR, KeyState, RealmKeys, longest_token
from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain.clients import with_attributes
from gateway.domain.clients.client import Client
from gateway.domain.errors import (
    AlreadyExists,
    InvalidInput,
    InvalidToken,
    RealmNotFound,
    StoreUnavailable,
)
from gateway.domain.events import AdminEventQuery, EventPage, OperationType
from gateway.domain.keys import KeyStatus, RealmKey, SignatureAlgorithm
from gateway.domain.ports.signing import KeyRing
from gateway.domain.realm import Realm, SessionLimits, TokenLifespans
from gateway.domain.refusals import NotFound
from gateway.domain.secrets import SecretsAtRest
from gateway.storage.sql.database import SqlDatabase
from tests.support.storage import StoredDatabase
from tests.support.tokens import header_of

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ES256, RS256 = SignatureAlgorithm.ES256, SignatureAlgorithm.RS256
HOUR = timedelta(hours=1)
REALM = Realm(
    id="demo-id",
    name="demo",
    enabled=True,
    default_signature_algorithm=ES256,
    session_limits=SessionLimits(max_lifespan=timedelta(minutes=30)),
)
ACTING = operator(REALM)


@dataclass
class SetClock:
    """A clock that the test sets."""

    instant: datetime = START

    def now(self) -> datetime:
        """Return the set instant."""
        return self.instant


@dataclass
class RecordedInvalidation:
    """Invalidation whose messages the test reads; `down` stands for a lost Redis."""

    topics: list[str] = field(default_factory=list)
    down: bool = False
    connected: bool = True

    async def publish(self, topics: Sequence[str]) -> None:
        """Remember the topics."""
        if self.down:
            raise StoreUnavailable("redis")
        self.topics.extend(topics)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Refuse: nothing here listens."""
        raise NotImplementedError


@dataclass
class House:
    """A realm with one key, on a real database."""

    database: SqlDatabase
    factory: PyJwtKeyFactory
    clock: SetClock
    invalidation: RecordedInvalidation
    keys: RealmKeys

    async def stored(self) -> tuple[RealmKey, ...]:
        """Return what the database holds."""
        async with self.database.read() as stores:
            return await stores.keys.list_keys("demo-id")

    async def ring(self) -> KeyRing:
        """Parse what the database holds, as a gateway does."""
        return self.factory.ring(await self.stored())

    async def states(self) -> dict[str, KeyStatus]:
        """Return what the listing tells, by kid."""
        return {state.key.kid: state.standing for state in await self.keys.list_keys("demo")}


@pytest.fixture
async def house(
    sqlite_database: StoredDatabase, secrets_at_rest: SecretsAtRest, key_factory: PyJwtKeyFactory
) -> AsyncIterator[House]:
    database = SqlDatabase(sqlite_database.url, secrets_at_rest)
    clock, invalidation = SetClock(), RecordedInvalidation()
    first = key_factory.generate("demo-id", "demo", ES256, START)
    async with database.write() as stores:
        await stores.realms.add(REALM)
        await stores.keys.add(first)
    keys = RealmKeys(Changes(database, clock, invalidation), key_factory)
    yield House(database, key_factory, clock, invalidation, keys)
    await database.dispose()


async def test_a_rotation_publishes_signs_and_retires_the_old_key(
    house: House,
) -> None:
    (old,) = await house.stored()
    change = await house.keys.rotate_key(ACTING)
    assert change.successor is not None
    new = change.successor.kid
    begins, retires = START + PUBLISH_FOR, START + PUBLISH_FOR + HOUR
    told = {}
    for instant in (START, begins - timedelta(microseconds=1), begins, retires):
        house.clock.instant = instant
        ring = await house.ring()
        signed_by = header_of(ring.sign({}, ES256, instant))["kid"]
        published = [jwk["kid"] for jwk in ring.public_jwks(instant)]
        assert (await house.states())[signed_by] is KeyStatus.ACTIVE
        told[instant] = (signed_by, published)
    assert list(told.values()) == [
        (old.kid, [old.kid, new]),
        (old.kid, [old.kid, new]),
        (new, [new, old.kid]),
        (new, [new]),
    ]
    assert house.invalidation.topics == ["realm:demo-id"]


async def test_a_rotation_takes_over_from_a_key_of_whatever_priority(house: House) -> None:
    made = house.factory.generate("demo-id", "demo", ES256, START - HOUR)
    high = replace(made, priority=5000)
    async with house.database.write() as stores:
        await stores.keys.add(high)
    change = await house.keys.rotate_key(ACTING, publish_for=timedelta())
    assert change.successor is not None
    ring = await house.ring()
    assert header_of(ring.sign({}, ES256, START))["kid"] == change.successor.kid


async def test_no_verification_fails_over_twenty_rotations(house: House) -> None:
    """Gateways whose copy is 30 s old and services whose JWKS is 60 s old believe every token."""
    longest = timedelta(minutes=5)
    step = timedelta(seconds=15)
    issued: list[tuple[str, datetime]] = []
    gateway: KeyRing = await house.ring()
    jwks: dict[str, jwt.PyJWK] = {}
    rotations, checks, signers = 0, 0, set()
    for tick in range(20 * 16 + 40):
        now = house.clock.instant = START + tick * step
        if tick % 16 == 0 or tick in (33, 34, 100):
            await house.keys.rotate_key(ACTING)
            rotations += 1
        fresh = await house.ring()
        if tick % 2 == 0:
            gateway = fresh
        if tick % 4 == 0:
            jwks = {jwk["kid"]: jwt.PyJWK(dict(jwk)) for jwk in fresh.public_jwks(now)}
        issued.append((gateway.sign({"n": tick}, ES256, now), now))
        issued = [(token, at) for token, at in issued if now < at + longest]
        for token, at in issued:
            kid = header_of(token)["kid"]
            signers.add(kid)
            assert fresh.verify_token(token, now) == gateway.verify_token(token, now)
            if tick % 4 == 0 or at == now:  # once with each JWKS
                jwt.decode(token, jwks[kid], ["ES256"])
            checks += 1
    assert rotations >= 20
    assert checks > 5000
    assert len(signers) >= 20
    # Keys whose end has come leave the JWKS: one an hour old is gone.
    assert len(jwks) < rotations


async def test_a_rotation_now_signs_at_once(house: House) -> None:
    (old,) = await house.stored()
    token = (await house.ring()).sign({}, ES256, START)
    change = await house.keys.rotate_key(ACTING, publish_for=timedelta())
    ring = await house.ring()
    assert change.successor is not None
    assert header_of(ring.sign({}, ES256, START))["kid"] == change.successor.kid
    assert ring.verify_token(token, START + HOUR - timedelta(seconds=1)) == {}
    assert (await house.states())[old.kid] is KeyStatus.PASSIVE


async def test_a_rotation_for_another_algorithm_leaves_the_first_alone(house: House) -> None:
    before = await house.stored()
    change = await house.keys.rotate_key(ACTING, algorithm=RS256)
    assert change.changed == ()
    ring = await house.ring()
    assert header_of(ring.sign({}, RS256, START))["alg"] == "RS256"
    assert header_of(ring.sign({}, ES256, START))["kid"] == before[0].kid


async def test_the_private_key_is_stored_sealed(
    house: House, sqlite_database: StoredDatabase
) -> None:
    await house.keys.rotate_key(ACTING)
    assert b"PRIVATE KEY" not in sqlite_database.dump()


@pytest.mark.parametrize(
    ("fields", "attributes", "expected"),
    [
        ({}, {}, timedelta(hours=10)),
        ({"session_limits": SessionLimits(max_lifespan=timedelta(minutes=1))}, {}, HOUR),
        ({"token_lifespans": TokenLifespans(access_token=20 * HOUR)}, {}, 20 * HOUR),
        (
            {"token_lifespans": TokenLifespans(access_token_for_implicit_flow=21 * HOUR)},
            {},
            21 * HOUR,
        ),
        (
            {"session_limits": SessionLimits(max_lifespan_remember_me=22 * HOUR)},
            {},
            22 * HOUR,
        ),
        ({}, {"access.token.lifespan": "86400"}, 24 * HOUR),
        ({}, {"access.token.lifespan": "-1"}, timedelta(hours=10)),
        ({}, {"access.token.lifespan": "9" * 5000}, timedelta(hours=10)),
    ],
)
def test_an_old_key_verifies_for_the_longest_token_lifetime(
    fields: Mapping[str, Any], attributes: Mapping[str, str], expected: timedelta
) -> None:
    realm = Realm(**({"id": "r", "name": "r"} | dict(fields)))
    client = with_attributes(Client(id="c", realm_id="r", client_id="c"), attributes)
    assert longest_token(realm, (client,)) == expected


async def test_the_lifespan_of_a_client_prolongs_the_overlap(house: House) -> None:
    attributes = {"access.token.lifespan": "86400"}
    async with house.database.write() as stores:
        await stores.clients.add(
            Client(id="c", realm_id="demo-id", client_id="c", attributes=attributes)
        )
    (old,) = (await house.keys.rotate_key(ACTING)).changed
    assert old.retire_at == START + PUBLISH_FOR + timedelta(days=1)


async def test_the_successor_of_a_disabled_key_signs_at_once(
    house: House,
) -> None:
    (compromised,) = await house.stored()
    token = (await house.ring()).sign({}, ES256, START)
    change = await house.keys.disable_key(ACTING, compromised.kid)
    ring = await house.ring()
    with pytest.raises(InvalidToken):
        ring.verify_token(token, START)
    assert change.successor is not None
    assert change.successor.active_from == START
    assert header_of(ring.sign({}, ES256, START))["kid"] == change.successor.kid
    assert [jwk["kid"] for jwk in ring.public_jwks(START)] == [change.successor.kid]
    assert house.invalidation.topics == ["realm:demo-id"]


async def test_disabling_the_old_key_lets_the_new_one_sign_early(
    house: House,
) -> None:
    (compromised,) = await house.stored()
    new = (await house.keys.rotate_key(ACTING)).successor
    change = await house.keys.disable_key(ACTING, compromised.kid)
    assert change.successor is None
    assert new is not None
    assert header_of((await house.ring()).sign({}, ES256, START))["kid"] == new.kid


async def test_disabling_the_new_key_leaves_the_realm_a_key(
    house: House,
) -> None:
    (old,) = await house.stored()
    failed = (await house.keys.rotate_key(ACTING)).successor
    assert failed is not None
    change = await house.keys.disable_key(ACTING, failed.kid)
    assert change.successor is not None
    for instant, kid in (
        (START, old.kid),
        (START + PUBLISH_FOR, change.successor.kid),
        (START + timedelta(days=365), change.successor.kid),
    ):
        ring = await house.ring()
        assert header_of(ring.sign({}, ES256, instant))["kid"] == kid


async def test_a_change_is_stored_even_where_no_gateway_can_be_told(house: House) -> None:
    house.invalidation.down = True
    change = await house.keys.rotate_key(ACTING)
    assert not change.announced
    assert len(await house.stored()) == 2
    house.invalidation.down = False
    assert (await house.keys.rotate_key(ACTING)).announced


async def test_keys_whose_end_has_come_are_no_longer_parsed(house: House) -> None:
    (old,) = await house.stored()
    await house.keys.rotate_key(ACTING)
    house.clock.instant = START + timedelta(days=1)
    await house.keys.rotate_key(ACTING)
    stored = {key.kid: key.status for key in await house.stored()}
    assert stored.pop(old.kid) is KeyStatus.DISABLED
    assert set(stored.values()) == {KeyStatus.ACTIVE}


async def test_an_unknown_realm_or_key_changes_nothing(house: House) -> None:
    before = await house.stored()
    gone = operator(Realm(id="nope", name="nope"))
    with pytest.raises(NotFound):
        await house.keys.rotate_key(gone)
    with pytest.raises(RealmNotFound, match="there is no realm 'nope'"):
        await house.keys.list_keys("nope")
    with pytest.raises(InvalidInput, match="there is no key with the kid 'nope'"):
        await house.keys.disable_key(ACTING, "nope")
    with pytest.raises(InvalidInput, match="there is no key with the kid 'nope'"):
        await house.keys.find_realm_of_key("nope")
    with pytest.raises(InvalidInput):
        await house.keys.disable_key(gone, before[0].kid)
    assert await house.keys.find_realm_of_key(before[0].kid) == REALM
    assert await house.stored() == before
    assert house.invalidation.topics == []


async def test_a_rotation_is_stored_whole_or_not_at_all(
    house: House, rsa_private_keys: tuple[rsa.RSAPrivateKey, ...]
) -> None:
    """The factory makes the same key twice: the second is refused, the first keeps no end."""
    factory = PyJwtKeyFactory(rsa_key=lambda: rsa_private_keys[0])
    changes = Changes(house.database, house.clock, house.invalidation)
    keys = RealmKeys(changes, factory)
    await keys.rotate_key(ACTING, algorithm=RS256)
    before = await house.stored()
    with pytest.raises(AlreadyExists):
        await keys.rotate_key(ACTING, algorithm=RS256)
    assert await house.stored() == before


async def test_rotations_at_once_leave_a_realm_that_signs_and_verifies(house: House) -> None:
    token = (await house.ring()).sign({}, ES256, START)
    await asyncio.gather(*(house.keys.rotate_key(ACTING) for _ in range(4)))
    later = START + PUBLISH_FOR
    ring = await house.ring()
    assert ring.verify_token(token, later) == {}
    assert ring.verify_token(ring.sign({}, ES256, later), later) == {}
    states = list((await house.states()).values())
    assert states.count(KeyStatus.ACTIVE) == 1


async def test_listing_tells_the_keys_of_every_realm(house: House) -> None:
    async with house.database.write() as stores:
        await stores.realms.add(Realm(id="other-id", name="other"))
        await stores.keys.add(house.factory.generate("other-id", "other", ES256, START))
    listed: tuple[KeyState, ...] = await house.keys.list_keys()
    assert [(state.realm, state.standing) for state in listed] == [
        ("demo", KeyStatus.ACTIVE),
        ("other", KeyStatus.ACTIVE),
    ]
    assert [state.realm for state in await house.keys.list_keys("other")] == ["other"]


async def test_each_changed_key_leaves_the_event_of_its_component(
    house: House,
) -> None:
    (old,) = await house.stored()
    async with house.database.write() as stores:
        recording = replace(REALM.events, admin_enabled=True, admin_details_enabled=True)
        await stores.realms.replace(replace(REALM, events=recording))
    made = (await house.keys.rotate_key(ACTING)).successor
    assert made is not None
    await house.keys.disable_key(ACTING, old.kid)
    async with house.database.read() as stores:
        page = EventPage(0, 10)
        events = await stores.admin_events.page("demo-id", AdminEventQuery(), page)
    assert sorted((event.operation, event.resource_path) for event in events) == sorted(
        [
            (OperationType.CREATE, f"components/{made.id}"),
            (OperationType.UPDATE, f"components/{old.id}"),
            (OperationType.UPDATE, f"components/{old.id}"),
        ]
    )
    assert all("PRIVATE KEY" not in str(event.representation) for event in events)
