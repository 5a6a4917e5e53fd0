"""The password that a sign-in has proven counts while it is the password of the user.

A page may wait for minutes after the form of the password. A sign-in with a former password must
not end in a session: the user, or an administrator, has set another one to stop it (attacks: D8).
"""

from typing import Final

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import SignIn
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.users import Credential

_NOTE: Final = "proven-password"
"""The note with the instant at which the proven password was set, in milliseconds since 1970."""


def note_password(sign_in: SignIn, credential: Credential) -> None:
    """Note that the user knows this password; a stronger hash of it keeps its instant."""
    sign_in.note(_NOTE, _instant(credential))


def has_password(session: AuthenticationSession) -> bool:
    """Tell whether a password was proven in an earlier request."""
    return _NOTE in session.notes


def is_former(session: AuthenticationSession, account: Account) -> bool:
    """Tell whether the proven password is no longer that of `account`, with its credentials."""
    current = account.password
    return current is None or session.notes.get(_NOTE) != _instant(current)


def password_mark(account: Account) -> str:
    """Return what tells this password of the user from the next one; empty without any."""
    current = account.password
    return "" if current is None else _instant(current)


def _instant(credential: Credential) -> str:
    return str(round(credential.created_at.timestamp() * 1000))
