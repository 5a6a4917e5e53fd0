"""Sign-ins in a browser, completed beside a running gateway: by its own rules and in its stores.

So tests of what follows a sign-in need no page.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import update

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.profile_updates import EmailUpdates
from gateway.bootstrap import open_services
from gateway.bootstrap.client_certificates import client_certificates
from gateway.bootstrap.protocol import browser_sign_in, protocol_services, validity
from gateway.bootstrap.services import Services, redis_url
from gateway.domain.ports.lookups import ClientEntry, RealmEntry, UserEntry
from gateway.domain.ports.sign_in import MOST_UNPROVEN_BYTES
from gateway.domain.sessions import UserSession
from gateway.protocol.authorization import AuthorizationRequest, ResponseType
from gateway.protocol.browser_sign_in import Browser, Outcome
from gateway.protocol.consents import Consents
from gateway.protocol.identity_cookie import (
    BrowserIdentity,
    IdentityCookies,
    IdentityVerification,
    issue_identity,
)
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.response_modes import ResponseMode
from gateway.protocol.scopes import grant_scopes
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_completion import FinishedSignIn, SignInCompletion
from gateway.settings import Settings, read_settings
from gateway.storage.redis.connection import create_client
from gateway.storage.sql.database import SqlStores
from gateway.storage.sql.schema import users
from tests.support.gateway_process import Gateway
from tests.support.password_logins import CountedEvents
from tests.support.wire import PUBLIC_URL

REDIRECT_URI = "https://app.example.test/callback"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Finished:
    """The parameters of a response, the session, and its cookies."""

    parameters: Mapping[str, str]
    session: UserSession
    cookies: IdentityCookies
    event: Mapping[str, Any]

    @property
    def code(self) -> str:
        return self.parameters["code"]


@dataclass(frozen=True, slots=True)
class SignIn:
    """Who signs in, to what, and what the client asks for."""

    username: str = "john"
    client_id: str = "svc"
    realm: str = "coded"
    response_type: str = "code"
    scope: str | None = "openid"
    asked: Mapping[str, Any] = field(default_factory=dict)
    """Fields of AuthorizationRequest."""
    finished: Mapping[str, Any] = field(default_factory=dict)
    """Fields of FinishedSignIn."""
    ago: timedelta = timedelta()
    """How long ago it was."""
    consents: bool = False
    """The user consents to what is asked for."""


_NUMBERS: Final = iter(range(1_000_000))


def sign_in(gateway: Gateway, given: SignIn | None = None, **changes: Any) -> Finished:
    """Complete a sign-in; `changes` are fields of SignIn."""
    wanted = replace(given or SignIn(), **changes)
    return _run(gateway, lambda services: _complete(services, wanted))


def identity_of(gateway: Gateway, cookie: str, realm: str = "coded") -> BrowserIdentity | None:
    """Return what the gateway finds by an identity cookie."""

    async def find(services: Services) -> BrowserIdentity | None:
        request = await _request(services, realm)
        return await IdentityVerification(validity(services)).find_identity(request, cookie)

    return _run(gateway, find)


def begin_after_end(gateway: Gateway, done: Finished, realm: str, **asked: Any) -> Outcome:
    """Begin a sign-in of a browser whose session ends right after its cookie was verified."""

    async def begin(services: Services) -> Outcome:
        request = await _request(services, realm)
        client = await _client(services, request.realm, "svc")
        wanted = AuthorizationRequest(
            client=client,
            redirect_uri=REDIRECT_URI,
            response_type=frozenset({ResponseType.CODE}),
            response_mode=ResponseMode.QUERY,
            scopes=grant_scopes(request.realm, client.client, "openid"),
        )
        trust = client_certificates(_settings(gateway), services).trust(services.authorities)
        protocol = protocol_services(services, CountedEvents(), PUBLIC_URL, trust)
        found = IdentityVerification(protocol.validity)
        identity = await found.find_identity(request, done.cookies.identity)
        assert identity is not None
        await protocol.sessions.log_out(request.realm.realm.id, done.session.id, request.now)
        signing_in = browser_sign_in(services, protocol)
        return await signing_in.begin(request, replace(wanted, **asked), Browser(identity=identity))

    return _run(gateway, begin)


def seconds_left(gateway: Gateway, done: Finished) -> int:
    """Return how long the code of a sign-in may still be redeemed."""

    async def read(_: Services) -> int:
        redis = create_client(redis_url(_settings(gateway)))
        key = f"rg:authorization-code:{done.session.realm_id}:{done.code}"
        found = int(await redis.ttl(key))
        await redis.aclose()
        return found

    return _run(gateway, read)


def fill_sign_ins(gateway: Gateway, realm_id: str, network: str) -> None:
    """Take all room of anonymous sign-ins of a realm, as a flood from a network does."""

    async def fill(_: Services) -> None:
        redis = create_client(redis_url(_settings(gateway)))
        seconds, microseconds = await redis.time()
        name = f"authentication-session:{realm_id}"
        member = f"flood tab {MOST_UNPROVEN_BYTES}"
        await redis.zadd(
            f"rg:unproven:{name}:{network}", {member: seconds * 1_000_000 + microseconds}
        )
        await redis.zincrby(f"rg:unproven-networks:{name}", MOST_UNPROVEN_BYTES, network)
        await redis.incrby(f"rg:unproven-sum:{name}", MOST_UNPROVEN_BYTES)
        await redis.aclose()

    _run(gateway, fill)


def _settings(gateway: Gateway) -> Settings:
    return read_settings(state_dir=gateway.state_dir, public_url=PUBLIC_URL)


def _run(gateway: Gateway, work: Callable[[Services], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_services(_settings(gateway)) as services:
            return await work(services)

    return asyncio.run(run())


async def _complete(services: Services, wanted: SignIn) -> Finished:
    request = await _request(services, wanted.realm, wanted.ago)
    await _let_users_be_older(services, request)
    client = await _client(services, request.realm, wanted.client_id)
    asked = AuthorizationRequest(
        client=client,
        redirect_uri=REDIRECT_URI,
        response_type=frozenset(map(ResponseType, wanted.response_type.split())),
        response_mode=ResponseMode.QUERY,
        scopes=grant_scopes(request.realm, client.client, wanted.scope),
    )
    finished = FinishedSignIn(user=await _user(services, request.realm, wanted.username))
    if wanted.consents:
        consents = Consents(services.database)
        await consents.grant(client.client, finished.user, asked.scopes, request.now)
    updates = AccountUpdates(services.database, services.invalidation, services.clock)
    sessions = Sessions(services.online_sessions, services.database, EmailUpdates(updates))
    completion = SignInCompletion(sessions, services.client_encryption)
    response, session = await completion.complete(
        request, replace(asked, **wanted.asked), replace(finished, **wanted.finished)
    )
    cookies = issue_identity(request.realm, request.issuer, session, request.now)
    event = {"type": request.event.kind, **request.event.details}
    return Finished(response.parameters, session, cookies, event)


async def _let_users_be_older(services: Services, request: ProtocolRequest) -> None:
    """Let the users of the realm be there before the sign-in: sessions of former users end."""
    async with services.database.write() as stores:
        statement = update(users).where(users.c.realm_id == request.realm.realm.id)
        earlier = request.now - timedelta(days=1)
        assert isinstance(stores, SqlStores)
        await stores.transaction.execute(statement.values(added_at=earlier))


async def _request(services: Services, realm: str, ago: timedelta = timedelta()) -> ProtocolRequest:
    entry = await services.directory.realm(realm)
    assert entry is not None
    return ProtocolRequest(
        realm=entry,
        issuer=f"{PUBLIC_URL}/realms/{realm}",
        parameters=Parameters(),
        authorization=None,
        certificate=None,
        remote_address="203.0.113.9",
        secure=True,
        now=datetime.now(UTC) - ago,
    )


async def _client(services: Services, realm: RealmEntry, client_id: str) -> ClientEntry:
    found = await services.directory.client(realm.realm.id, client_id)
    assert found is not None
    return found


async def _user(services: Services, realm: RealmEntry, username: str) -> UserEntry:
    async with services.database.read() as stores:
        user = await stores.users.find_by_username(realm.realm.id, username)
    assert user is not None
    found = await services.directory.user(realm.realm.id, user.id)
    assert found is not None
    return found
