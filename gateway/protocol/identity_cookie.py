"""The identity cookie of a browser, and the login status that pages of clients ask for."""

import hashlib
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Final

from gateway.authentication.validity import (
    ClientPart,
    IssuedCredential,
    NoLongerValid,
    SessionName,
    Validity,
    is_usable_client,
)
from gateway.domain import base64url
from gateway.domain.clients import Client, origins_of
from gateway.domain.errors import InvalidToken
from gateway.domain.ports.lookups import Directory, RealmEntry
from gateway.domain.sessions import IMPERSONATOR_ID, UserSession, session_maximum_ends_at
from gateway.domain.users import User
from gateway.protocol.claims.mapper import AUTH_TIME
from gateway.protocol.requests import ProtocolRequest

IDENTITY_TYPE: Final = "Serialized-ID"
_LONGEST_COOKIE: Final = 4096
_CHECKER_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class IdentityCookies:
    """The values of both cookies; `identity` is a secret.

    KEYCLOAK_IDENTITY is a JWT signed with the realm's secret key; `max_age` is None where it ends
    with the browser. KEYCLOAK_SESSION is a hash of the session id, which clients compare with
    `session_state`; it lasts for `session_max_age`, always until the session ends. Spec: OpenID
    Connect Session Management §3.2; Keycloak: 12.11 cookies, createLoginCookie (26.7)
    """

    identity: str = field(repr=False)
    session: str
    max_age: timedelta | None
    session_max_age: timedelta


@dataclass(frozen=True, slots=True)
class BrowserIdentity:
    """A verified cookie: the live session, its user, and the secret of its forms."""

    session: UserSession
    user: User
    authenticated_at: datetime
    state_checker: str = field(repr=False)


def issue_identity(
    realm: RealmEntry, issuer: str, session: UserSession, now: datetime
) -> IdentityCookies:
    """Return the cookies of a session; raises LookupError when the realm has no key for them."""
    # An online session always has such an end.
    end = session_maximum_ends_at(realm.realm.session_limits, session) or now
    claims = {
        "exp": int(end.timestamp()),
        "iat": int(now.timestamp()),
        "jti": str(uuid.uuid4()),
        "iss": issuer,
        "sub": session.user_id,
        "typ": IDENTITY_TYPE,
        "sid": session.id,
        "state_checker": secrets.token_urlsafe(_CHECKER_BYTES),
    }
    remaining = max(end - now, timedelta())
    return IdentityCookies(
        identity=realm.key_ring.sign_for_ourselves(claims, now),
        session=session_hash(session.id),
        max_age=remaining if session.remember_me else None,
        session_max_age=remaining,
    )


def session_hash(session_id: str) -> str:
    """Return the value of KEYCLOAK_SESSION: base64url(SHA-384(session id)), unpadded."""
    return base64url.encode(hashlib.sha384(session_id.encode()).digest())


class IdentityVerification:
    """Finds the session of a browser by its cookie."""

    def __init__(self, validity: Validity) -> None:
        self._validity = validity

    async def find_identity(self, request: ProtocolRequest, cookie: str) -> BrowserIdentity | None:
        """Return the identity of a live session and usable user; raises StoreUnavailable."""
        if len(cookie) > _LONGEST_COOKIE:
            return None
        try:
            claims = request.realm.key_ring.verify_of_ourselves(cookie, request.now)
        except InvalidToken:
            return None
        times = claims.get("iat"), claims.get("exp")
        named = claims.get("sid"), claims.get("sub"), claims.get("state_checker")
        if claims.get("typ") != IDENTITY_TYPE or claims.get("iss") != request.issuer:
            return None
        if not all(isinstance(text, str) for text in named):
            return None
        if not all(isinstance(time, int) for time in times):
            return None
        issued_at, expires_at = map(int, times)  # type: ignore[arg-type] # both are whole numbers
        if expires_at <= request.now.timestamp():
            return None
        session_id, user_id, checker = map(str, named)
        issued = IssuedCredential(
            issued_at=issued_at,
            client=None,
            session=SessionName(session_id),
            part=ClientPart.NO_CLIENT,
            user_id=user_id,
        )
        try:
            current = await self._validity.require(request.realm, issued, request.now)
        except NoLongerValid:
            return None
        if current.session is None:
            return None
        user, signed_in = current.user.user, authenticated_at(current.session)
        return BrowserIdentity(current.session, user, signed_in, checker)


def authenticated_at(session: UserSession) -> datetime:
    """Return when the user of a session signed in with credentials the last time.

    Never, in a session that an administrator began: no age that a request allows covers it.
    """
    text = session.notes.get(AUTH_TIME, "")
    if text.isascii() and text.isdecimal():
        return datetime.fromtimestamp(int(text), UTC)
    if IMPERSONATOR_ID in session.notes:
        return datetime.fromtimestamp(0, UTC)
    return session.started_at


class LoginStatus(Enum):
    """Answers frames of a client's pages. Spec: OpenID Connect Session Management §3."""

    REFUSED = auto()
    UNCHANGED = auto()
    CHANGED = auto()


async def login_status(
    request: ProtocolRequest,
    directory: Directory,
    own_origins: Iterable[str],
    cookies: Iterable[str],
) -> LoginStatus:
    """Compare `session_state`, if sent, with KEYCLOAK_SESSION values; raises StoreUnavailable."""
    client_id, origin, state = map(request.parameters.get, ("client_id", "origin", "session_state"))
    if client_id is None or origin is None:
        return LoginStatus.REFUSED
    entry = await directory.client(request.realm.realm.id, client_id)
    if entry is None or not is_usable_client(entry):
        return LoginStatus.REFUSED
    if origin not in own_origins and not _may_ask(entry.client, origin):
        return LoginStatus.REFUSED
    if state is None or session_hash(state) in cookies:
        return LoginStatus.UNCHANGED
    return LoginStatus.CHANGED


def _may_ask(client: Client, origin: str) -> bool:
    allowed = client.allowed_origins or ()
    if "*" in allowed or origin in allowed:
        return True
    root, patterns = client.redirects.root_url, client.redirects.patterns
    return origin in origins_of(
        f"{root}{pattern}" if pattern.startswith("/") else pattern for pattern in patterns
    )
