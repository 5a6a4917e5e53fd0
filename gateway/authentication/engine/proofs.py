"""Proofs of a user: secrets are compared here alone, and a proof counts while it is current.

attacks: D8
"""

import hashlib
from collections.abc import Iterable
from contextlib import AsyncExitStack, suppress
from typing import Final

from gateway.authentication.accounts import Account
from gateway.authentication.brute_force_protection import (
    Attempt,
    BruteForceGuard,
    is_locked_for_good,
    lock_for_good,
)
from gateway.authentication.engine.sign_in import PROVEN_AT, SecretCheck, SignInAttempt
from gateway.authentication.errors import AccountDisabled, InvalidUserCredentials, Lockout
from gateway.authentication.validity import is_proven_since
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.errors import StoreUnavailable
from gateway.domain.events import EventError
from gateway.domain.ports.invalidation import Invalidation, user_topic
from gateway.domain.ports.login_failures import Admission, FailureOutcome
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm, brute_force_rules
from gateway.domain.users import FORMER_PASSWORD, Credential, User


class PermanentLockouts:
    """Disables accounts that the guard locks for good."""

    def __init__(self, database: Database, invalidation: Invalidation) -> None:
        self._database = database
        self._invalidation = invalidation

    async def lock(self, realm: Realm, user: User) -> None:
        async with self._database.write() as stores:
            await lock_for_good(stores, realm.id, user.id)
        with suppress(StoreUnavailable):  # the others read the log of changes
            await self._invalidation.publish([user_topic(realm.id, user.id)])


class GuardedChecks(AsyncExitStack):
    """The checks of one request. To be used as a context, which settles the attempt.

    An unknown user, a wrong secret and a locked account take the same work and end in the same
    refusal. The attempt is reserved before the first secret of a request is compared and settled at
    its end: a right password is counted neither as a failure nor as a success while a code is still
    to come. Keycloak: 4.2 what counts (26.7); attacks: D1, D3, D4, D8, D10, D11
    """

    def __init__(self, guard: BruteForceGuard, lockouts: PermanentLockouts) -> None:
        super().__init__()
        self._guard = guard
        self._lockouts = lockouts
        self._attempt: Attempt | None = None
        self._guarded_as = ""

    async def require_proven(
        self, sign_in: SignInAttempt, account: Account, check: SecretCheck
    ) -> None:
        """Return where the secret is right; another account is another attempt.

        Raises InvalidUserCredentials, AccountDisabled, Overloaded or StoreUnavailable.
        """
        attempt, name, user = self._attempt, account.guarded_as, account.user
        if attempt is None or self._guarded_as != name:
            realm, address = sign_in.realm, sign_in.context.address
            reserved = self._guard.attempt(brute_force_rules(realm), realm.id, name, address)
            attempt = self._attempt = await self.enter_async_context(reserved)
            self._guarded_as = name
        proved = await check.prove(attempt.admitted)
        if user is None or not (proved and attempt.admitted and account.may_sign_in):
            second_factor = bool(sign_in.used)
            raise await self._refusal(sign_in, account, attempt, second_factor=second_factor)
        if not user.enabled:
            raise AccountDisabled(user.id)
        sign_in.used.add(check.credential)

    async def succeeded(self) -> None:
        """Clear the failures of the user who has signed in."""
        if self._attempt is not None:
            await self._attempt.succeeded()

    async def _refusal(
        self, sign_in: SignInAttempt, account: Account, attempt: Attempt, *, second_factor: bool
    ) -> InvalidUserCredentials:
        realm, user = sign_in.realm, account.user
        if user is not None and attempt.admitted and account.may_sign_in:
            outcome = await attempt.failed(second_factor=second_factor)
            if outcome.permanent:
                await self._lockouts.lock(realm, user)
            error = EventError.INVALID_USER_CREDENTIALS
            if not user.enabled and not sign_in.context.has_pages:
                error = EventError.USER_DISABLED  # Keycloak's password grant looks there first.
            return InvalidUserCredentials(error, user.id, _new_lockout(outcome))
        is_no_account = user is None or user.service_account_client is not None
        await attempt.passed_over(counts=is_no_account and attempt.admitted)
        if user is not None and attempt.admission is Admission.LOCKED_FOR_GOOD and user.enabled:
            # The gateway that counted the last failure may have died before it wrote this.
            await self._lockouts.lock(realm, user)
        return _passed_over(user, attempt.admission)


def _passed_over(user: User | None, admission: Admission) -> InvalidUserCredentials:
    """Return the refusal where nothing was compared, with the reason for operators."""
    if user is None:
        return InvalidUserCredentials(EventError.USER_NOT_FOUND)
    if user.service_account_client is not None:
        return InvalidUserCredentials(EventError.INVALID_USER)
    if is_locked_for_good(user) or admission is Admission.LOCKED_FOR_GOOD:
        return InvalidUserCredentials(EventError.USER_DISABLED, user.id)
    return InvalidUserCredentials(EventError.USER_TEMPORARILY_DISABLED, user.id)


def _new_lockout(outcome: FailureOutcome) -> Lockout | None:
    """Return the lock-out that the failure has begun."""
    if not outcome.permanent and not outcome.locked_now:
        return None
    record = outcome.record
    return Lockout(record.failures, None if outcome.permanent else record.locked_until)


_PROVEN_AT_NOTE: Final = "proven-password"
"""The note with the mark of the proven password, empty for a user without one."""
_KEYS_NOTE: Final = "proven-keys"
"""The note with the ids of the credentials of proven keys, separated by spaces."""
_ADDRESS_NOTE: Final = "proven-address"
"""The note with the address of the user whose link was opened."""
_CREDENTIALS_NOTE: Final = "proven-credentials"
"""The note with the marks of all credentials of the user whose link was opened."""
_USER_NOTE: Final = "proven-user"
"""The note with the instant at which the user was added: a later one may have the same id."""
_MARK_LENGTH: Final = 24
"""Hexadecimal digits: 96 bits. A session has up to 100 marks."""


def note_password(sign_in: SignInAttempt, credential: Credential) -> None:
    """Note that the user knows this password; a stronger hash of it keeps its instant.

    A page may wait for minutes after the form of the password. A sign-in with a former password
    must not end in a session: the user, or an administrator, has set another one to stop it
    (attacks: D8). The link of a mail ends with the address and the password, and so do the pages
    that it has opened.
    """
    sign_in.note(_PROVEN_AT_NOTE, _mark(credential))
    _note_user(sign_in)


def note_key(sign_in: SignInAttempt, credential: Credential) -> None:
    """Note that the user has presented this security key or passkey."""
    keys = {*sign_in.notes.get(_KEYS_NOTE, "").split(), credential.id}
    sign_in.note(_KEYS_NOTE, " ".join(sorted(keys)))
    _note_user(sign_in)


def _note_user(sign_in: SignInAttempt) -> None:
    """Note which user it is; a user who was registered in this request is not read back yet."""
    if sign_in.user.added_at is not None:
        sign_in.note(_USER_NOTE, sign_in.user.added_at.isoformat())


def with_link(
    session: AuthenticationSession, user: User, mark: str, credentials: str | None = None
) -> AuthenticationSession:
    """Return a session that counts while the user has the address and the password of a link.

    `mark` is that of the password, empty for a user without one. `credentials` are the marks of
    all credentials for a link that ends with a change of any of them, else None.
    """
    added_at = None if user.added_at is None else user.added_at.isoformat()
    noted = session.with_note(_PROVEN_AT_NOTE, mark).with_note(_ADDRESS_NOTE, user.email or "")
    return noted.with_note(_CREDENTIALS_NOTE, credentials).with_note(_USER_NOTE, added_at)


def keep_address(sign_in: SignInAttempt) -> None:
    """Let a sign-in by a link go on after it has changed the address itself."""
    if _ADDRESS_NOTE in sign_in.notes:
        sign_in.note(_ADDRESS_NOTE, sign_in.user.email or "")


def keep_credentials(
    sign_in: SignInAttempt, *, added: Iterable[Credential], removed: Iterable[Credential]
) -> None:
    """Let a sign-in by a link go on after it has changed credentials itself."""
    if _CREDENTIALS_NOTE not in sign_in.notes:
        return
    known = set(sign_in.notes[_CREDENTIALS_NOTE].split()) - set(map(_mark, removed))
    sign_in.note(_CREDENTIALS_NOTE, " ".join(sorted({*known, *map(_mark, added)})))


def has_password(session: AuthenticationSession) -> bool:
    """Tell whether a password or a key was proven in an earlier request."""
    return _PROVEN_AT_NOTE in session.notes or _KEYS_NOTE in session.notes


def is_former(session: AuthenticationSession, account: Account) -> bool:
    """Tell whether `account`, with its credentials, no longer has a credential that was proven."""
    address = session.notes.get(_ADDRESS_NOTE)
    if address is not None and (account.user is None or address != (account.user.email or "")):
        return True
    added_at = session.notes.get(_USER_NOTE)
    if added_at is not None and not _was_added_at(account.user, added_at):
        return True
    held = session.notes.get(_CREDENTIALS_NOTE)
    if held is not None and held != _marks(account.credentials or ()):
        return True
    keys = set(session.notes.get(_KEYS_NOTE, "").split())
    if not keys <= {one.id for one in account.credentials or ()}:
        return True
    proven = session.notes.get(_PROVEN_AT_NOTE)
    return proven is not None and proven != password_mark(account)


def is_proven_too_early(sign_in: SignInAttempt) -> bool:
    """Tell whether the user was signed out everywhere since the user has used credentials.

    A link also ends with the notBefore of its client.
    """
    proven_at = sign_in.begun.notes.get(PROVEN_AT)
    user = None if proven_at is None else sign_in.found_user
    if proven_at is None or user is None:
        return False
    client = sign_in.client if _ADDRESS_NOTE in sign_in.begun.notes else None
    return not is_proven_since(sign_in.realm, client, user, float(proven_at))


def _was_added_at(user: User | None, instant: str) -> bool:
    return user is not None and user.added_at is not None and user.added_at.isoformat() == instant


def password_mark(account: Account) -> str:
    """Return a mark that differs for each password of the user; empty without any."""
    current = account.password
    return "" if current is None else _mark(current)


async def current_password_mark(stores: Stores, user: User) -> str:
    """Return the mark of the password that the user has now; raises StoreUnavailable."""
    held = await stores.users.credentials(user.realm_id, user.id)
    return password_mark(Account(user, held, user.id))


async def current_credential_marks(stores: Stores, user: User) -> str:
    """Return the marks of all credentials, separated by spaces; raises StoreUnavailable."""
    return _marks(await stores.users.credentials(user.realm_id, user.id))


async def current_credentials_mark(stores: Stores, user: User) -> str:
    """Return a mark that differs for each set of credentials; raises StoreUnavailable.

    A stronger hash, a used recovery code and a new label change nothing. Former passwords do not
    count.
    """
    return credentials_mark(await current_credential_marks(stores, user))


def credentials_mark(marks: str) -> str:
    """Return one mark of fixed length for the marks of all credentials."""
    return hashlib.sha256(marks.encode()).hexdigest()


def _marks(held: Iterable[Credential]) -> str:
    return " ".join(sorted(_mark(one) for one in held if one.type != FORMER_PASSWORD))


def _mark(credential: Credential) -> str:
    """Return a mark of the credential as it was set: its date may come from a file, and its id."""
    text = f"{credential.id} {credential.valid_since.isoformat()}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_LENGTH]
