"""Action tokens, the links that carry them, and the mails with links that users ask for.

Keycloak: DefaultActionToken, Urls.actionTokenBuilder, EmailCooldownManager; attacks: E8
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, Final
from urllib.parse import urlencode
from uuid import uuid4

from gateway.domain.authentication import (
    LONGEST_ACTION_TOKEN,
    ActionToken,
    ActionTokenKind,
    MessageKey,
)
from gateway.domain.errors import InvalidToken
from gateway.domain.limits.rate_limits import LINKS, RateLimiter
from gateway.domain.mail import MailKind, MailNotSent, QueuedMail, mail_server, user_mail, with_link
from gateway.domain.ports.credentials import OneTimeMarks
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User, canonical_name

_TEXTS: Final = {
    "email": "eml",
    "new_email": "newEmail",
    "sign_in": "asid",
    "session": "sid",
    "password": "pwm",
    "credentials": "crm",
    "redirect_uri": "reduri",
}
"""Fields that may be absent, and their claims."""
_ACTIONS: Final = "rqac"
_ADDED_AT: Final = "subAddedAt"
"""The claim with the instant at which the user was added, in ISO 8601."""
_ENDS_SESSIONS: Final = "logoutSessions"


def user_action_lifespan(realm: Realm, kind: ActionTokenKind) -> timedelta:
    """Return how long a link lasts that a user asked for.

    The realm attribute of its kind says it in seconds, otherwise the setting for all of them.
    """
    return realm.link_lifespans.get(kind, realm.token_lifespans.action_token_by_user)


def new_action_token(
    kind: ActionTokenKind,
    user: User,
    client_id: str,
    now: datetime,
    lifespan: timedelta,
    **fields: Any,
) -> ActionToken:
    """Return a token with an id of its own; `fields` are others of ActionToken.

    A token is a JWT under the realm's secret key, which only gateways can make. What it lets the
    user do is checked where the link is opened. Keycloak: DefaultActionToken,
    Urls.actionTokenBuilder
    """
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
        return _parsed_token(claims)
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise InvalidToken("of another type, or malformed") from error


def _parsed_token(claims: Mapping[str, Any]) -> ActionToken:
    optional = {name: claims.get(claim) for name, claim in _TEXTS.items()}
    added_at = claims.get(_ADDED_AT)
    return ActionToken(
        kind=ActionTokenKind(claims["typ"]),
        id=_text_claim(claims["jti"]),
        user_id=_text_claim(claims["sub"]),
        client_id=_text_claim(claims["azp"]),
        issued_at=datetime.fromtimestamp(claims["iat"], UTC),
        expires_at=datetime.fromtimestamp(claims["exp"], UTC),
        user_added_at=None if added_at is None else datetime.fromisoformat(_text_claim(added_at)),
        actions=tuple(map(_text_claim, claims.get(_ACTIONS, ()))),
        ends_other_sessions=claims.get(_ENDS_SESSIONS) is True,
        **{name: _text_claim(text) for name, text in optional.items() if text is not None},
    )


def _text_claim(value: object) -> str:
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


_NO_PAUSE: Final = timedelta()


@dataclass(frozen=True, slots=True)
class NotSent:
    """Why a user gets no mail now: the text of the page."""

    message: MessageKey
    arguments: tuple[str, ...] = ()

    @property
    def is_pause(self) -> bool:
        """Whether a mail was sent moments ago, not refused."""
        return self.message is MessageKey.MAIL_TOO_SOON


@dataclass(frozen=True, slots=True)
class LinkMail:
    """A mail with a link; `arguments` of its texts follow the lifespan of the link.

    `tab_id` is that of the sign-in that goes on by the link.
    """

    entry: RealmEntry
    issuer: str
    user: User
    address: str
    kind: MailKind
    token: ActionToken
    tab_id: str | None = None
    arguments: tuple[str, ...] = ()
    is_dry_run: bool = False
    """There is no user to send it to: the same work is done, and no mail is stored."""

    async def queue(self, stores: Stores, now: datetime) -> NotSent | None:
        """Put the mail into the queue; raises as `action_link` does."""
        realm, token = self.entry.realm, self.token
        try:
            mail_server(realm.smtp)
        except MailNotSent:
            return NotSent(MessageKey.MAIL_NOT_SENT)
        link = action_link(self.entry, self.issuer, token, tab_id=self.tab_id)
        plain = user_mail(realm, self.user, self.address, self.kind, now)
        mail = with_link(plain, link, token.expires_at - token.issued_at, *self.arguments)
        if not await stores.mails.add(QueuedMail(mail, self.user.id, is_dry_run=self.is_dry_run)):
            return NotSent(MessageKey.MAIL_NOT_SENT)
        return None


class MailPauses:
    """The pauses between mails to a user, for all gateways.

    There is a pause between two of the same kind to the same user, and a limit for each address,
    which users of several accounts and networks share; the queue limits them as well, so that a
    mailbox is not flooded. Keycloak: EmailCooldownManager; attacks E8
    """

    def __init__(self, marks: OneTimeMarks, limiter: RateLimiter) -> None:
        self._marks = marks
        self._limiter = limiter

    async def begin(
        self, user: User, name: str, pause: timedelta, address: str, network: str
    ) -> NotSent | None:
        """Begin a pause before the mail to `address`, unless one lasts; raises StoreUnavailable.

        The mails to one address are counted as well, whichever user asks for them. Each action
        counts apart: who wants to change to an address keeps no mail of its owner back. A mail that
        the limit refuses begins no pause, which would mean that one was sent.
        """
        mark = f"mail-pause:{name}:{user.id}"
        left = _NO_PAUSE
        if pause > _NO_PAUSE:
            left = await self._marks.remaining(user.realm_id, mark)
        if left > _NO_PAUSE:
            return _too_soon(left)
        recipient = f"{name} {canonical_name(address.strip())}"
        recipient = hashlib.sha256(recipient.encode("utf-8", "replace")).hexdigest()
        if not await self._limiter.admit(user.realm_id, LINKS, network, recipient):
            return NotSent(MessageKey.MAIL_NOT_SENT)
        if pause <= _NO_PAUSE or await self._marks.claim(user.realm_id, mark, pause):
            return None
        # Another request of the user has begun the pause meanwhile.
        return _too_soon(pause)


def _too_soon(left: timedelta) -> NotSent:
    seconds = str(max(ceil(left.total_seconds()), 1))
    return NotSent(MessageKey.MAIL_TOO_SOON, (seconds,))
