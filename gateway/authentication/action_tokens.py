"""Signing and reading action tokens, and the links that carry them.

A token is a JWT under the realm's secret key, which only gateways can make. What it lets the user
do is checked where the link is opened. Keycloak: DefaultActionToken, Urls.actionTokenBuilder
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode
from uuid import uuid4

from gateway.domain.authentication.action_tokens import (
    LONGEST_ACTION_TOKEN,
    ActionToken,
    ActionTokenKind,
)
from gateway.domain.errors import InvalidToken
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.realm import Realm
from gateway.domain.users import User

_TEXTS: Final = {
    "email": "eml",
    "new_email": "newEmail",
    "sign_in": "asid",
    "password": "pwm",
    "credentials": "crm",
    "redirect_uri": "reduri",
}
"""Fields that may be absent, and their claims."""
_LIFESPAN_OF_KIND: Final = "actionTokenGeneratedByUserLifespan."
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)
_ACTIONS: Final = "rqac"
_ADDED_AT: Final = "subAddedAt"
"""The claim with the instant at which the user was added, in ISO 8601."""
_ENDS_SESSIONS: Final = "logoutSessions"


def user_action_lifespan(realm: Realm, kind: ActionTokenKind) -> timedelta:
    """Return how long a link lasts that a user asked for.

    The realm attribute of its kind says it in seconds, otherwise the setting for all of them.
    """
    text = realm.attributes.get(f"{_LIFESPAN_OF_KIND}{kind}", "")
    if _NUMBER.fullmatch(text) is None or not int(text):
        return realm.token_lifespans.action_token_by_user
    return timedelta(seconds=int(text))


def new_action_token(
    kind: ActionTokenKind,
    user: User,
    client_id: str,
    now: datetime,
    lifespan: timedelta,
    **fields: Any,
) -> ActionToken:
    """Return a token with an id of its own; `fields` are others of ActionToken."""
    issued_at = now.replace(microsecond=0)
    return ActionToken(
        kind=kind,
        id=str(uuid4()),
        user_id=user.id,
        user_added_at=user.added_at,
        client_id=client_id,
        issued_at=issued_at,
        expires_at=issued_at + lifespan,
        **fields,
    )


def sign_action_token(entry: RealmEntry, issuer: str, token: ActionToken) -> str:
    """Return the token as text.

    Raises LookupError where the realm has no key for it, ValueError where the text is too long.
    """
    optional = {claim: getattr(token, name) for name, claim in _TEXTS.items()}
    claims = {
        "exp": int(token.expires_at.timestamp()),
        "iat": int(token.issued_at.timestamp()),
        "jti": token.id,
        "nonce": token.id,
        "iss": issuer,
        "aud": issuer,
        "sub": token.user_id,
        "typ": str(token.kind),
        "azp": token.client_id,
        **{claim: text for claim, text in optional.items() if text is not None},
    }
    if token.user_added_at is not None:
        claims[_ADDED_AT] = token.user_added_at.isoformat()
    if token.actions:
        claims[_ACTIONS] = list(token.actions)
    if token.ends_other_sessions:
        claims[_ENDS_SESSIONS] = True
    text = entry.key_ring.sign_for_ourselves(claims, token.issued_at)
    if len(text) > LONGEST_ACTION_TOKEN:
        raise ValueError("the link would be too long")
    return text


def read_action_token(entry: RealmEntry, issuer: str, text: str, now: datetime) -> ActionToken:
    """Return the token of a link, expired or not; raises InvalidToken."""
    if len(text) > LONGEST_ACTION_TOKEN:
        raise InvalidToken("longer than any action token")
    claims = entry.key_ring.verify_of_ourselves(text, now)
    if claims.get("iss") != issuer:
        raise InvalidToken("a token of another realm")
    try:
        return _token(claims)
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise InvalidToken("of another type, or malformed") from error


def _token(claims: Mapping[str, Any]) -> ActionToken:
    optional = {name: claims.get(claim) for name, claim in _TEXTS.items()}
    added_at = claims.get(_ADDED_AT)
    return ActionToken(
        kind=ActionTokenKind(claims["typ"]),
        id=_text(claims["jti"]),
        user_id=_text(claims["sub"]),
        client_id=_text(claims["azp"]),
        issued_at=datetime.fromtimestamp(claims["iat"], UTC),
        expires_at=datetime.fromtimestamp(claims["exp"], UTC),
        user_added_at=None if added_at is None else datetime.fromisoformat(_text(added_at)),
        actions=tuple(map(_text, claims.get(_ACTIONS, ()))),
        ends_other_sessions=claims.get(_ENDS_SESSIONS) is True,
        **{name: _text(text) for name, text in optional.items() if text is not None},
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def action_link(
    entry: RealmEntry, issuer: str, token: ActionToken, *, tab_id: str | None = None
) -> str:
    """Return the URL of a mail; raises as `sign_action_token` does."""
    pairs = {"key": sign_action_token(entry, issuer, token), "client_id": token.client_id}
    if tab_id is not None:
        pairs["tab_id"] = tab_id
    return f"{issuer}/login-actions/action-token?{urlencode(pairs)}"
