"""The proof of a sign-in counts while it is one of the user: a password, a key or a link.

A page may wait for minutes after the form of the password. A sign-in with a former password must
not end in a session: the user, or an administrator, has set another one to stop it (attacks: D8).
The link of a mail ends with the address and the password, and so do the pages that it has opened.
"""

import hashlib
import json
from typing import Final

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import PROVEN_AT, SignIn
from gateway.authentication.validity import is_proven_since
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.ports.storage import Stores
from gateway.domain.users import Credential, User
from gateway.representations.users import PASSWORD_TYPES

_NOTE: Final = "proven-password"
"""The note with the instant at which the proven password was set, in milliseconds since 1970."""
_KEYS_NOTE: Final = "proven-keys"
"""The note with the ids of the credentials of proven keys, separated by spaces."""
_ADDRESS_NOTE: Final = "proven-address"
"""The note with the address of the user whose link was opened."""


def note_password(sign_in: SignIn, credential: Credential) -> None:
    """Note that the user knows this password; a stronger hash of it keeps its instant."""
    sign_in.note(_NOTE, _instant(credential))


def note_key(sign_in: SignIn, credential: Credential) -> None:
    """Note that the user has presented this security key or passkey."""
    keys = {*sign_in.notes.get(_KEYS_NOTE, "").split(), credential.id}
    sign_in.note(_KEYS_NOTE, " ".join(sorted(keys)))


def with_link(session: AuthenticationSession, user: User, mark: str) -> AuthenticationSession:
    """Return a session that counts while the user has the address and the password of a link.

    `mark` is that of the password, empty for a user without one.
    """
    return session.with_note(_NOTE, mark).with_note(_ADDRESS_NOTE, user.email or "")


def keep_address(sign_in: SignIn) -> None:
    """Let a sign-in by a link go on after it has changed the address itself."""
    if _ADDRESS_NOTE in sign_in.notes:
        sign_in.note(_ADDRESS_NOTE, sign_in.user.email or "")


def has_password(session: AuthenticationSession) -> bool:
    """Tell whether a password or a key was proven in an earlier request."""
    return _NOTE in session.notes or _KEYS_NOTE in session.notes


def is_former(session: AuthenticationSession, account: Account) -> bool:
    """Tell whether `account`, with its credentials, no longer has what was proven."""
    address = session.notes.get(_ADDRESS_NOTE)
    if address is not None and (account.user is None or address != (account.user.email or "")):
        return True
    keys = set(session.notes.get(_KEYS_NOTE, "").split())
    if not keys <= {one.id for one in account.credentials or ()}:
        return True
    proven = session.notes.get(_NOTE)
    return proven is not None and proven != password_mark(account)


def is_proven_too_early(sign_in: SignIn) -> bool:
    """Tell whether the user was signed out everywhere since the user has used credentials."""
    proven_at, user = sign_in.begun.notes.get(PROVEN_AT), sign_in.found_user
    if proven_at is None or user is None:
        return False
    return not is_proven_since(sign_in.realm, user, float(proven_at))


def password_mark(account: Account) -> str:
    """Return a mark that differs for each password of the user; empty without any."""
    current = account.password
    return "" if current is None else _instant(current)


async def current_password_mark(stores: Stores, user: User) -> str:
    """Return the mark of the password that the user has now; raises StoreUnavailable."""
    held = await stores.users.credentials(user.realm_id, user.id)
    return password_mark(Account(user, held, user.id))


async def current_credentials_mark(stores: Stores, user: User) -> str:
    """Return a mark that differs for each set of credentials; raises StoreUnavailable.

    Passwords count by the instant at which they were set, others by their id: a stronger hash, a
    used recovery code and a new label change nothing. Former passwords do not count.
    """
    held = await stores.users.credentials(user.realm_id, user.id)
    password = password_mark(Account(user, held, user.id))
    others = sorted(one.id for one in held if one.type not in PASSWORD_TYPES)
    return hashlib.sha256(json.dumps([password, others]).encode()).hexdigest()


def _instant(credential: Credential) -> str:
    return str(round(credential.created_at.timestamp() * 1000))
