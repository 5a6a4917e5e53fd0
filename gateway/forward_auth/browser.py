"""Browsers at protected sites: they sign in at the realm, return, and sign out."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Self
from urllib.parse import quote, urlencode

from gateway.authentication.validity import is_usable_client
from gateway.domain import base64url
from gateway.domain.clients import Client
from gateway.domain.errors import SecretUnreadable
from gateway.domain.events import EventError, EventType
from gateway.domain.forward_auth import (
    CALLBACK_PATH,
    OWN_PATHS,
    OriginalRequest,
    Site,
    SiteSession,
    cookie_scope,
    target_of,
    unusable_setting,
)
from gateway.domain.hosts import AmbiguousTarget, canonical_host, is_host_of
from gateway.domain.ports.lookups import ClientEntry
from gateway.domain.ports.sessions import SiteSessions
from gateway.domain.ports.sign_in import PushedParameters, PushedRequestStore
from gateway.domain.secrets import SecretsAtRest
from gateway.domain.sessions import if_lasting, session_maximum_ends_at
from gateway.forward_auth.callers import LiveAccounts
from gateway.protocol.authorization import PageError, PageMessage, keep_pushed_request
from gateway.protocol.code_redemption import RedeemedSignIn, redeem_code
from gateway.protocol.logout import ClientFrame, logout_frames
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.sessions import Sessions

LONGEST_RETURN_URL: Final = 2000
"""Characters: it is kept in a cookie while the user signs in."""
_SCHEME: Final = "https://"


class UnsafeReturnUrl(Exception):
    """The browser must not be sent there; `str()` is the reason, free of the URL's text."""


def return_url(site: Site, host: str, wanted: str) -> str:
    """Return `wanted`, an https URL or path, as URL of the site; raises UnsafeReturnUrl.

    It is composed of a host of the site and an unambiguous path; other input is refused. attacks:
    C3
    """
    text = wanted
    if len(text) > LONGEST_RETURN_URL:
        raise UnsafeReturnUrl(f"the URL is longer than {LONGEST_RETURN_URL} characters")
    try:
        if not text.startswith("/"):
            host, text = _split(site, text)
        path = target_of(OriginalRequest("GET", "https", host, text)).path
    except AmbiguousTarget as error:
        raise UnsafeReturnUrl(str(error)) from None
    if f"{path}/".startswith(OWN_PATHS):
        raise UnsafeReturnUrl("the URL is one of the gateway")
    return f"{_SCHEME}{host}{text}"


def _split(site: Site, url: str) -> tuple[str, str]:
    if not url.startswith(_SCHEME):
        raise UnsafeReturnUrl("the URL does not begin with https://")
    authority, slash, rest = url.removeprefix(_SCHEME).partition("/")
    host = canonical_host(authority)
    if not is_host_of(site.hosts, host):
        raise UnsafeReturnUrl("the host is not one of the site")
    return host, f"{slash}{rest}" or "/"


SIGN_IN_PATH: Final = f"{OWN_PATHS}sign-in"
SIGN_OUT_PATH: Final = f"{OWN_PATHS}sign-out"
REFUSED_PATH: Final = f"{OWN_PATHS}refused"
WANTED: Final = "rd"


def leading_to(path: str, wanted: str | None) -> str:
    """Return the path with the URL to go to afterwards, without it where it is too long."""
    if wanted is None or len(wanted) > LONGEST_RETURN_URL:
        return path
    return f"{path}?{WANTED}={quote(wanted, safe='')}"


@dataclass(frozen=True, slots=True)
class SiteVisit:
    """A request of a browser to the realm, by HTTPS at a canonical host of the site."""

    site: Site
    host: str
    request: ProtocolRequest

    @property
    def origin(self) -> str:
        """The origin of the site's pages at this host."""
        return f"https://{self.host}"


SIGN_IN_LIFESPAN: Final = timedelta(minutes=30)
"""How long a user has to sign in."""
_MOST_SIGN_INS: Final = 6
_LONGEST_TOGETHER: Final = 5000
"""Characters of all names and values: proxies take 8 KiB of cookies, the service's among them."""
_RANDOM_BYTES: Final = 32
_ID_LENGTH: Final = 8


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """One sign-in; `state`, `nonce` and `verifier` are random texts of 43 characters."""

    return_url: str = field(repr=False)
    began_at: datetime
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)

    @classmethod
    def new(cls, return_url: str, now: datetime) -> Self:
        state, nonce, verifier = (secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3))
        return cls(return_url, now, state, nonce, verifier)

    @property
    def id(self) -> str:
        """The name of the sign-in, which is not secret."""
        return pending_id(self.state)


def pending_id(state: str) -> str:
    """Return the id of the sign-in that a `state` belongs to."""
    return state[:_ID_LENGTH]


class PendingSignIns:
    """Seals sign-ins for the host where they began, and opens them there.

    Each has a cookie of its own, so that several tabs can sign in; nothing is stored before.
    """

    def __init__(self, secrets_at_rest: SecretsAtRest) -> None:
        self._secrets = secrets_at_rest

    def seal(self, pending: PendingSignIn, host: str) -> str:
        """Return the sign-in as ASCII text that the browser can neither read nor make."""
        began = int(pending.began_at.timestamp())
        fields = [pending.return_url, began, pending.state, pending.nonce, pending.verifier]
        return self._secrets.seal(json.dumps(fields, separators=(",", ":")), _context_of_host(host))

    def open(self, sealed: str, host: str, now: datetime) -> PendingSignIn | None:
        """Return the sign-in, None where it is too old or none of this host."""
        try:
            opened = self._secrets.unseal(sealed, _context_of_host(host))
        except SecretUnreadable:
            return None
        url, began, state, nonce, verifier = json.loads(opened)
        pending = PendingSignIn(url, datetime.fromtimestamp(began, UTC), state, nonce, verifier)
        return pending if now < pending.began_at + SIGN_IN_LIFESPAN else None

    def surplus(
        self, sealed: Mapping[str, str], added: str, host: str, now: datetime
    ) -> tuple[str, ...]:
        """Return the names of those to remove when `added` comes to `sealed`: the oldest."""
        opened = {name: self.open(value, host, now) for name, value in sealed.items()}
        begun = {name: pending.began_at for name, pending in opened.items() if pending is not None}
        kept, length = 1, len(added)
        removed = [name for name in sealed if name not in begun]
        for name in sorted(begun, key=lambda each: begun[each], reverse=True):
            kept, length = kept + 1, length + len(name) + len(sealed[name])
            if kept > _MOST_SIGN_INS or length > _LONGEST_TOGETHER:
                removed.append(name)
        return tuple(removed)


def _context_of_host(host: str) -> str:
    return f"site-sign-in:{host}"


_SECRET_BYTES: Final = 32


class SignInFailed(Exception):
    """The browser is not signed in, by reason `str()`; `is_denied`: by user or realm.

    `return_url` is the URL that the sign-in was begun for, None for an unknown sign-in.
    """

    def __init__(
        self, reason: str, return_url: str | None = None, *, is_denied: bool = False
    ) -> None:
        super().__init__(reason)
        self.return_url = return_url
        self.is_denied = is_denied


@dataclass(frozen=True, slots=True)
class BegunSignIn:
    """`url` is the realm's authorization endpoint with the request."""

    url: str = field(repr=False)
    pending: PendingSignIn


@dataclass(frozen=True, slots=True)
class SiteSignedIn:
    """`value` is that of the session cookie: 256 random bits."""

    value: str = field(repr=False)
    session: SiteSession
    return_url: str = field(repr=False)


class SiteSignIn:
    """Begins and completes sign-ins. Methods raise PageError and StoreUnavailable.

    The realm's endpoint asks the user; the code is redeemed here without issuing a token. Spec: RFC
    6749 §4.1, RFC 7636 §4.1, RFC 9207 §2.4, OpenID Connect Core §3.1.2
    """

    def __init__(
        self,
        accounts: LiveAccounts,
        protocol: ProtocolServices,
        sessions: SiteSessions,
        pushed_requests: PushedRequestStore,
    ) -> None:
        self._accounts = accounts
        self._protocol = protocol
        self._sessions = sessions
        self._pushed_requests = pushed_requests

    async def begin(self, visit: SiteVisit, return_url: str) -> BegunSignIn:
        """Begin the sign-in that leads to a URL of the site."""
        client = (await self._client(visit)).client
        pending = PendingSignIn.new(return_url, visit.request.now)
        asked = {
            "client_id": client.client_id,
            "redirect_uri": f"{visit.origin}{CALLBACK_PATH}",
            "response_type": "code",
            "scope": " ".join(_scopes(visit, client)),
            "state": pending.state,
            "nonce": pending.nonce,
            "code_challenge": _challenge(pending.verifier),
            "code_challenge_method": "S256",
        }
        if client.authorization.pushed_requests_only:
            asked = await self._push(visit, client, asked)
        endpoint = f"{visit.request.issuer}/protocol/openid-connect/auth"
        return BegunSignIn(f"{endpoint}?{urlencode(asked)}", pending)

    async def _push(
        self, visit: SiteVisit, client: Client, asked: dict[str, str]
    ) -> dict[str, str]:
        """Push the request, as one of a public client; return the parameters that name it."""
        pushed = PushedParameters(asked, was_signed=True, is_anonymous=True)
        realm = visit.request.realm.realm
        kept = await keep_pushed_request(self._pushed_requests, realm, client, pushed)
        return {"client_id": client.client_id, "request_uri": kept.request_uri}

    async def complete(self, visit: SiteVisit, pending: PendingSignIn | None) -> SiteSignedIn:
        """Take the realm's response to `pending`; raises SignInFailed and OAuthError too."""
        if pending is None or not _is_named(visit, pending):
            raise SignInFailed("the browser has begun no such sign-in")
        code = _code(visit, pending)
        client = await self._client(visit)
        redeemed = await self._redeem(visit, client.client, code, pending)
        if not hmac.compare_digest((redeemed.code.nonce or "").encode(), pending.nonce.encode()):
            visit.request.event.error = EventError.INVALID_CODE
            raise SignInFailed("the code was issued with another nonce", pending.return_url)
        return await self._store_session(visit, client.client, redeemed, pending)

    async def _client(self, visit: SiteVisit) -> ClientEntry:
        realm, client_id = visit.request.realm.realm, visit.site.client
        entry = (
            None
            if client_id is None
            else await self._accounts.directory.client(realm.id, client_id)
        )
        if entry is None:
            error = EventError.CLIENT_NOT_FOUND
            raise PageError(PageMessage.clientNotFoundMessage, event_error=error)
        if not is_usable_client(entry):
            error = EventError.CLIENT_DISABLED
            raise PageError(PageMessage.clientDisabledMessage, event_error=error)
        unusable = unusable_setting(entry.client)
        if unusable is not None:
            reason = f"the client {client_id} cannot sign browsers in: {unusable}"
            error = EventError.NOT_ALLOWED
            raise PageError(PageMessage.siteClientUnusableMessage, event_error=error, reason=reason)
        return entry

    async def _redeem(
        self, visit: SiteVisit, client: Client, code: str, pending: PendingSignIn
    ) -> RedeemedSignIn:
        form = {
            "code": code,
            "redirect_uri": f"{visit.origin}{CALLBACK_PATH}",
            "code_verifier": pending.verifier,
        }
        visit.request.event.kind = EventType.CODE_TO_TOKEN
        visit.request.event.client_id = client.client_id
        # A refresh token is never issued, so nothing could use an offline session.
        request = replace(visit.request, parameters=Parameters(form))
        return await redeem_code(self._protocol, request, client, only_online=True)

    async def _store_session(
        self, visit: SiteVisit, client: Client, redeemed: RedeemedSignIn, pending: PendingSignIn
    ) -> SiteSignedIn:
        realm, now = visit.request.realm.realm, visit.request.now
        joined = redeemed.joined.session
        session = SiteSession(
            site=cookie_scope(visit.site),
            realm_id=realm.id,
            client=client.client_id,
            user_id=redeemed.user.user.id,
            session_id=joined.id,
            created_at=now,
            generation=redeemed.joined.client_session.generation,
        )
        end = session_maximum_ends_at(realm.session_limits, joined)
        lifespan = realm.session_limits.max_lifespan if end is None else end - now
        value = secrets.token_urlsafe(_SECRET_BYTES)
        await self._sessions.add(value, session, lifespan)
        return SiteSignedIn(value, session, pending.return_url)


def _is_named(visit: SiteVisit, pending: PendingSignIn) -> bool:
    state = visit.request.parameters.get("state") or ""
    return hmac.compare_digest(state.encode(), pending.state.encode())


def _code(visit: SiteVisit, pending: PendingSignIn) -> str:
    sent = visit.request.parameters
    if sent.repeated:
        raise SignInFailed("the response has a parameter twice", pending.return_url)
    if sent.get("iss") != visit.request.issuer:
        raise SignInFailed("the response is of another issuer", pending.return_url)
    error = sent.get("error")
    if error is not None:
        is_denied = error == "access_denied"
        raise SignInFailed("the realm has refused it", pending.return_url, is_denied=is_denied)
    code = sent.get("code")
    if code is None:
        raise SignInFailed("the response has no code", pending.return_url)
    return code


def _scopes(visit: SiteVisit, client: Client) -> tuple[str, ...]:
    """Return `openid` and the optional scopes of the client that rules of the site require."""
    required = {scope for rule in visit.site.rules for scope in rule.requirements.scopes}
    return ("openid", *sorted(required.intersection(client.optional_client_scopes)))


def _challenge(verifier: str) -> str:
    return base64url.encode(hashlib.sha256(verifier.encode("ascii")).digest())


_TIME_TO_ANSWER: Final = timedelta(minutes=30)
_LONGEST_SIGN_OUT_CODE: Final = 1024


class SignOutCodes:
    """Makes and checks the codes of forms. `values` are those of the session cookie."""

    def __init__(self, secrets: SecretsAtRest) -> None:
        self._secrets = secrets

    def issue_code(self, values: Sequence[str], now: datetime) -> str:
        """Return a code that holds for half an hour."""
        until = int((now + _TIME_TO_ANSWER).timestamp())
        return self._secrets.seal(json.dumps(until), _context_of_code(values))

    def holds(self, code: str, values: Sequence[str], now: datetime) -> bool:
        """Return whether the code was issued for this browser, and lately."""
        if not values or len(code) > _LONGEST_SIGN_OUT_CODE:
            return False
        try:
            until = json.loads(self._secrets.unseal(code, _context_of_code(values)))
        except SecretUnreadable:
            return False
        return bool(now.timestamp() < until)


class SiteSignOut:
    """Ends sessions of sites; the code of its form is sealed for the browser's session cookie.

    Methods raise StoreUnavailable. attacks: D14; Spec: OpenID Connect Back-Channel Logout §2.5
    """

    def __init__(self, sites: SiteSessions, sessions: Sessions) -> None:
        self._sites = sites
        self._sessions = sessions

    async def is_signed_in(self, visit: SiteVisit, values: Sequence[str]) -> bool:
        """Return whether one of the cookie's values names a session that has not ended."""
        for value in values:
            found = await self._sites.find_session(visit.request.realm.realm.id, value)
            if found is not None and await self._lasts(visit, found):
                return True
        return False

    async def end(self, visit: SiteVisit, values: Sequence[str]) -> tuple[ClientFrame, ...]:
        """End the sessions and their user sessions; return the frames of clients to log out."""
        realm = visit.request.realm.realm
        visit.request.event.kind = EventType.LOGOUT
        visit.request.event.client_id = visit.site.client
        frames: list[ClientFrame] = []
        for value in values:
            found = await self._sites.find_session(realm.id, value)
            if found is not None:
                frames += await self._end(visit, found)
                await self._sites.end(realm.id, value)
        if visit.request.event.session_id is None:
            visit.request.event.withdraw()
        return tuple(frames)

    async def _lasts(self, visit: SiteVisit, found: SiteSession) -> bool:
        realm, now = visit.request.realm.realm, visit.request.now
        session = await self._sessions.find_stored(realm.id, found.session_id, offline=False)
        return if_lasting(realm, session, now) is not None

    async def _end(self, visit: SiteVisit, found: SiteSession) -> tuple[ClientFrame, ...]:
        request = visit.request
        realm, now = request.realm.realm, request.now
        session = await self._sessions.find_stored(realm.id, found.session_id, offline=False)
        if session is None:
            return ()
        clients = await self._sessions.log_out_of_browser(session, now)
        request.event.user_id, request.event.session_id = session.user_id, session.id
        return logout_frames(session, clients, request.issuer)


def _context_of_code(values: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(values).encode()).hexdigest()
    return f"site-sign-out:{digest}"
