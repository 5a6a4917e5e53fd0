"""Whether a session, token, code, link or certificate may still be used: one rule for all.

Each use of a token, a code, a cookie, a session of a site or a certificate asks here, and turns
the cause of a refusal into the error of its protocol. A temporary lock-out refuses what begins
something; it ends nothing, so a stranger who guesses passwords signs no user out.
Keycloak: 1.7 refresh, 3 (sessions), 4.2 what counts
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Final

from gateway.domain.clients import Client
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.ports.certificates import DeniedCertificates, DeviceLocks
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.lookups import ClientEntry, Directory, RealmEntry, UserEntry
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import UserSession, generation_of, has_lasting_part, if_lasting
from gateway.domain.users import User

OFFLINE_ACCESS: Final = "offline_access"
"""The client scope of offline sessions, and the realm role that its users need."""


class Cause(StrEnum):
    """Why a credential may not be used any more; the value is for logs and operators."""

    REALM_DISABLED = "its realm is disabled"
    CLIENT_UNUSABLE = "its client is gone or disabled"
    SESSION_OVER = "its session is over"
    OTHER_USER = "its session is another user's"
    USER_REMOVED = "its user was removed"
    USER_DISABLED = "its user is disabled"
    USER_LOCKED_OUT = "its user is locked out"
    BEFORE_SESSION = "issued before its session began"
    CLIENT_NOT_IN_SESSION = "its client takes no part in its session"
    CLIENT_SESSION_OVER = "its session is over for its client"
    BEFORE_CLIENT_SESSION = "issued before its client joined its session"
    NOT_BEFORE = "issued before the realm's, the client's or the user's notBefore"
    OFFLINE_ACCESS_WITHDRAWN = "offline access is not granted any more"
    AUDIENCE_UNUSABLE = "a client that it is limited to is gone or disabled"
    CERTIFICATE_DENIED = "the certificate that it is bound to is on a deny list"
    DEVICE_LOCKED = "its device is locked"


class NoLongerValid(Exception):
    """The credential was valid once and is not any more.

    `user_id` is the user of its session, where that was found.
    """

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.value)
        self.cause = cause
        self.user_id: str | None = None


class ClientPart(Enum):
    """The part that the client of a credential needs in the session."""

    NO_CLIENT = auto()
    """The credential belongs to no client: the cookie of a browser."""
    NOT_NEEDED = auto()
    """The client of an exchanged token has not joined."""
    UNRELATED = auto()
    """The client must be usable; whether and when it joined says nothing: a link of a mail."""
    PRESENT = auto()
    LASTING = auto()
    """The part has neither idled too long nor grown too old."""


@dataclass(frozen=True, slots=True)
class SessionName:
    """The id of a stored session, of the offline sessions or of the online ones."""

    id: str
    offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedCredential:
    """The facts that a genuine credential depends on; the caller has verified the credential.

    `client` is None where it was removed, `session` where there is none: for links, and tokens of
    service accounts. `user_id` is the user that the credential names: needed without a session,
    unless the user is the client's own service account.
    """

    issued_at: float
    """Seconds since 1970."""
    client: ClientEntry | None
    session: SessionName | UserSession | None = None
    part: ClientPart = ClientPart.LASTING
    user_id: str | None = None
    user_added_at: datetime | None = None
    """When the user was added that it was issued to, where it names that: compared exactly."""
    audiences: frozenset[str] = frozenset()
    """The clients that it is limited to, by public name."""
    certificates: tuple[str, ...] = ()
    """Names of the certificates that it is bound to, as deny lists have them."""
    device: str | None = None
    generations: Mapping[str, int] = field(default_factory=dict)
    """Of the client sessions that it depends on, by the client's internal id.

    A credential of an earlier version names none.
    """
    account_generation: int | None = None
    """Of the service account, by the time when it was added; None with a session."""
    begins_sign_in: bool = False
    """The use gives tokens that the user did not have: of a device, or by an exchange."""


@dataclass(frozen=True, slots=True)
class CurrentState:
    """The user of a valid credential and the stored session, as they are now."""

    user: UserEntry
    session: UserSession | None = field(repr=False)


class Validity:
    """Answers for all credentials. Methods raise StoreUnavailable, never a silent answer."""

    def __init__(
        self,
        directory: Directory,
        online: OnlineSessionStore,
        database: Database,
        *,
        failures: LoginFailureStore,
        denied: DeniedCertificates,
        device_locks: DeviceLocks,
    ) -> None:
        self._directory = directory
        self._online = online
        self._database = database
        self._failures = failures
        self._denied = denied
        self._device_locks = device_locks

    async def require(
        self, realm: RealmEntry, issued: IssuedCredential, now: datetime
    ) -> CurrentState:
        """Return the session and the user of a valid credential; raises NoLongerValid."""
        require_enabled_realm(realm.realm)
        if issued.part is not ClientPart.NO_CLIENT:
            require_usable_client(issued.client)
        session = None
        if issued.session is not None:
            session = await self._session(realm.realm, issued.session, issued, now)
        try:
            user = await self._user(realm.realm, issued, session)
            if session is not None:
                _require_part(realm.realm, issued, session, now)
            _require_issued_since(issued, realm.realm, user.user)
            if session is not None and session.offline:
                _require_offline_access(realm, issued.client, user.roles)
            await self._require_surroundings(realm.realm, issued, now)
            if issued.begins_sign_in:
                await self._require_not_locked_out(realm.realm, user.user, now)
        except NoLongerValid as refusal:
            refusal.user_id = issued.user_id if session is None else session.user_id
            raise
        return CurrentState(user, session)

    async def find_session_to_end(
        self, realm: RealmEntry, issued: IssuedCredential, now: datetime
    ) -> UserSession | None:
        """Return the stored session that the credential may end; None where it has ended.

        Raises NoLongerValid for a credential that was revoked, that is not of the session, or
        whose client has left it. A session that is over, and that of a disabled user or realm, may
        be ended: the holder gains nothing. Keycloak: 12.6 logout
        """
        require_usable_client(issued.client)
        session = issued.session
        if isinstance(session, SessionName):
            session = await self._stored(realm.realm, session)
        if session is None:
            return None
        if issued.user_id not in {None, session.user_id}:
            raise NoLongerValid(Cause.OTHER_USER)
        _require_part(realm.realm, issued, session, now)
        user = await self._directory.user(realm.realm.id, session.user_id)
        client = None if issued.client is None else issued.client.client
        known = None if user is None else user.user
        _require_not_before(issued.issued_at, realm.realm, client, known)
        await self._require_surroundings(realm.realm, issued, now)
        return session

    async def _require_surroundings(
        self, realm: Realm, issued: IssuedCredential, now: datetime
    ) -> None:
        """Check the audiences, the certificates and the device of the credential."""
        for name in issued.audiences:
            audience = await self._directory.client(realm.id, name)
            require_usable_client(audience, Cause.AUDIENCE_UNUSABLE)
        for certificate in issued.certificates:
            if await self._denied.denies(realm, certificate, now):
                raise NoLongerValid(Cause.CERTIFICATE_DENIED)
        if issued.device is not None and issued.client is not None:
            await self.require_unlocked(realm, issued.client.client, issued.device, now)

    async def require_unlocked(
        self, realm: Realm, client: Client, device: str, now: datetime
    ) -> None:
        """Raise NoLongerValid where the device of the client is locked."""
        if await self._device_locks.is_locked(realm.id, client.id, device, now):
            raise NoLongerValid(Cause.DEVICE_LOCKED)

    async def _require_not_locked_out(self, realm: Realm, user: User, now: datetime) -> None:
        """Raise NoLongerValid where failed sign-ins have locked the user out."""
        if not may_be_locked_out(realm, user):
            return
        if (await self._failures.record(realm.id, user.id)).is_locked(now):
            raise NoLongerValid(Cause.USER_LOCKED_OUT)

    async def _session(
        self,
        realm: Realm,
        session: UserSession | SessionName,
        issued: IssuedCredential,
        now: datetime,
    ) -> UserSession:
        found = session if isinstance(session, UserSession) else await self._stored(realm, session)
        lasting = if_lasting(realm, found, now)
        if lasting is None:
            raise NoLongerValid(Cause.SESSION_OVER)
        if issued.user_id not in {None, lasting.user_id}:
            raise NoLongerValid(Cause.OTHER_USER)
        return lasting

    async def _stored(self, realm: Realm, name: SessionName) -> UserSession | None:
        """Return the stored session; reading an offline session keeps no writer waiting."""
        if not name.offline:
            return await self._online.find_session(realm.id, name.id)
        async with self._database.read() as stores:
            return await stores.offline_sessions.find_session(realm.id, name.id)

    async def _user(
        self, realm: Realm, issued: IssuedCredential, session: UserSession | None
    ) -> UserEntry:
        user_id = issued.user_id if session is None else session.user_id
        if user_id is None:
            return _service_account(issued, issued.client)
        user = require_usable_user(await self._directory.user(realm.id, user_id))
        owner = user.user.service_account_client
        if owner is None:
            return user
        entry = await self._directory.client_with_id(realm.id, owner)
        account = _service_account(issued, entry)
        return user if session is not None else account


def own_generation(client: str | None, generation: int | None) -> dict[str, int]:
    """Return the `generations` of a credential of the client with this internal id."""
    return {} if client is None or generation is None else {client: generation}


def require_enabled_realm(realm: Realm) -> None:
    """Raise NoLongerValid where the realm is disabled."""
    if not realm.enabled:
        raise NoLongerValid(Cause.REALM_DISABLED)


def is_usable_client(client: ClientEntry | None) -> bool:
    """Tell whether the client exists and is enabled."""
    return client is not None and client.client.enabled


def is_usable_in(realm: Realm, client: ClientEntry) -> bool:
    """Tell whether the client and its realm are enabled."""
    return realm.enabled and is_usable_client(client)


def require_usable_client(client: ClientEntry | None, cause: Cause = Cause.CLIENT_UNUSABLE) -> None:
    """Raise NoLongerValid for a removed or disabled client."""
    if client is None or not client.client.enabled:
        raise NoLongerValid(cause)


def usable_service_account(client: ClientEntry) -> User | None:
    """Return the service account of a client that may have one, while that is enabled."""
    account = client.service_account
    if account is None or not account.enabled or not client.client.service_accounts_enabled:
        return None
    return account


def may_be_locked_out(realm: Realm, user: User) -> bool:
    """Tell whether failed sign-ins lock the user out.

    A service account has no password to be guessed, so it is never locked out.
    """
    return realm.brute_force.protected and user.service_account_client is None


def require_usable_user(user: UserEntry | None) -> UserEntry:
    """Return the user; raises NoLongerValid for a removed or disabled one."""
    if user is None:
        raise NoLongerValid(Cause.USER_REMOVED)
    if not user.user.enabled:
        raise NoLongerValid(Cause.USER_DISABLED)
    return user


def _service_account(issued: IssuedCredential, owner: ClientEntry | None) -> UserEntry:
    """Return the service account of a client that may have one; raises NoLongerValid."""
    if owner is None or owner.service_account is None:
        raise NoLongerValid(Cause.USER_REMOVED)
    if not (owner.client.enabled and owner.client.service_accounts_enabled):
        raise NoLongerValid(Cause.USER_DISABLED)
    if issued.issued_at < owner.client.not_before:
        raise NoLongerValid(Cause.NOT_BEFORE)
    return require_usable_user(UserEntry(owner.service_account, owner.roles))


def _require_issued_since(issued: IssuedCredential, realm: Realm, user: User) -> None:
    """Raise NoLongerValid for a credential issued before a notBefore, or to an earlier user.

    A user who was removed and imported again may have the same id. The sessions of the first one
    may be there still, where Redis was unavailable when that user was removed.
    """
    client = None if issued.client is None else issued.client.client
    _require_not_before(issued.issued_at, realm, client, user)
    added_at = int((user.exists_since - CLOCK_LEEWAY).timestamp())
    generation = generation_of(user.exists_since)
    if issued.account_generation not in {None, generation}:
        raise NoLongerValid(Cause.USER_REMOVED)
    if issued.issued_at < added_at or issued.user_added_at not in {None, user.added_at}:
        raise NoLongerValid(Cause.USER_REMOVED)


def _require_not_before(
    issued_at: float, realm: Realm, client: Client | None, user: User | None
) -> None:
    """Raise NoLongerValid for a credential issued before a notBefore."""
    of_client = 0 if client is None else client.not_before
    of_user = 0 if user is None else user.not_before
    if issued_at < max(realm.not_before, of_client, of_user):
        raise NoLongerValid(Cause.NOT_BEFORE)


def is_proven_since(realm: Realm, client: Client | None, user: User, proven_at: float) -> bool:
    """Tell whether the proof of a sign-in is no older than notBefore, and is of this user.

    `client` is that of a link, None for a sign-in with credentials, which ends with no client.
    """
    proof = IssuedCredential(issued_at=proven_at, client=None)
    try:
        _require_not_before(proven_at, realm, client, user)
        _require_issued_since(proof, realm, user)
    except NoLongerValid:
        return False
    return True


def is_offline_access_granted(realm: RealmEntry, client: Client, roles: EffectiveRoles) -> bool:
    """Tell whether users with these roles may have offline sessions with the client."""
    assigned = {*client.default_client_scopes, *client.optional_client_scopes}
    if OFFLINE_ACCESS not in assigned or OFFLINE_ACCESS not in roles.realm:
        return False
    return any(
        bound.scope.name == OFFLINE_ACCESS and bound.is_permitted_to(roles)
        for bound in realm.client_scopes
    )


def _require_offline_access(
    realm: RealmEntry, client: ClientEntry | None, roles: EffectiveRoles
) -> None:
    if client is not None and not is_offline_access_granted(realm, client.client, roles):
        raise NoLongerValid(Cause.OFFLINE_ACCESS_WITHDRAWN)


def _require_part(
    realm: Realm, issued: IssuedCredential, session: UserSession, now: datetime
) -> None:
    """Raise NoLongerValid unless the client takes part in the session as it must.

    Another gateway may have begun the session, by a clock that is ahead of the issuer's: only a
    credential that names no generation is compared by time, with leeway.
    """
    latest = issued.issued_at + int(CLOCK_LEEWAY.total_seconds())
    if latest < int(session.started_at.timestamp()):
        raise NoLongerValid(Cause.BEFORE_SESSION)
    for name, generation in issued.generations.items():
        current = session.clients.get(name)
        if current is None:
            raise NoLongerValid(Cause.CLIENT_NOT_IN_SESSION)
        if current.generation != generation:
            raise NoLongerValid(Cause.BEFORE_CLIENT_SESSION)
    if issued.part is ClientPart.UNRELATED:
        return
    client = None if issued.client is None else issued.client.client
    part = None if client is None else session.clients.get(client.id)
    if client is None or part is None:
        if issued.part in {ClientPart.PRESENT, ClientPart.LASTING}:
            raise NoLongerValid(Cause.CLIENT_NOT_IN_SESSION)
        return
    if issued.part is ClientPart.LASTING and not has_lasting_part(realm, session, client, now):
        raise NoLongerValid(Cause.CLIENT_SESSION_OVER)
    if client.id not in issued.generations and latest < int(part.started_at.timestamp()):
        raise NoLongerValid(Cause.BEFORE_CLIENT_SESSION)
