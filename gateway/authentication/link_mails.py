"""Mails with links that users ask for while they sign in.

There is a pause between two of the same kind to the same user, and a limit for each address, which
users of several accounts and networks share; the queue limits them as well, so that a mailbox is
not flooded.
Keycloak: EmailCooldownManager; attacks E8
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from gateway.authentication.action_tokens import action_link
from gateway.domain.authentication import MessageKey
from gateway.domain.authentication.action_tokens import ActionToken
from gateway.domain.limits.rate_limits import LINKS
from gateway.domain.mail import (
    MailKind,
    MailNotSent,
    QueuedMail,
    mail_server,
    user_mail,
    with_link,
)
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.ports.one_time_passwords import OneTimeMarks
from gateway.domain.ports.rate_limiter import RateLimiter
from gateway.domain.ports.storage import Stores
from gateway.domain.users import User, canonical_name

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
    """The pauses between mails to a user, for all gateways."""

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
