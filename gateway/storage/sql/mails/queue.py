"""Mails to users: one row each, until a server has accepted the mail or it is given up.

What a mail says is sealed: it may contain a link that signs in.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, func, or_, select

from gateway.domain.errors import SecretUnreadable
from gateway.domain.mail import (
    KEPT_AFTERWARDS,
    MOST_RECIPIENTS_OF_USER,
    NOTIFICATIONS,
    PERIOD,
    Mail,
    MailKind,
    MailLimit,
    MailStatus,
    QueuedMail,
    limit_of,
    period_end,
)
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.storage.sql.delivery_rows import DeliveryRows, RowKinds
from gateway.storage.sql.schema import change_log, mails
from gateway.storage.sql.transaction import Transaction

_OVER = {"due_at": None, "content": ""}
KINDS = RowKinds(mails.c.kind, claimed=frozenset(MailKind), less_urgent=NOTIFICATIONS)
"""A newer gateway sends what this one does not know."""
_UNREADABLE = "the encryption key does not open it"


class SqlMails:
    """MailQueue on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._rows = DeliveryRows(transaction, mails, KINDS)
        self._secrets = secrets

    async def add(self, queued: QueuedMail) -> bool:
        limit = limit_of(queued.mail.kind)
        count = await self._count_recent(queued, limit)
        is_full = await self._is_full(queued, limit)
        if is_full or count >= limit.of_user:
            if limit.is_summed_up and not is_full and count < MOST_RECIPIENTS_OF_USER:
                summary = summarized_row(queued, self._secrets)
                await self._transaction.insert_missing(mails, [summary])
            if limit.same_work:
                await self._do_same_work(queued)
            return False
        if queued.is_dry_run:
            await self._do_same_work(queued)
            return True
        await self._transaction.insert_missing(mails, [queued_row(queued, self._secrets)])
        return True

    async def _do_same_work(self, queued: QueuedMail) -> None:
        """Take as long as for a mail: write a row that says nothing and is purged as others."""
        queued_row(queued, self._secrets)
        await self._transaction.insert_missing(change_log, [{"topics": ()}])

    async def _count_recent(self, queued: QueuedMail, limit: MailLimit) -> int:
        """Return how many mails of its sort the user has got in the period."""
        of_realm = and_(mails.c.realm_id == queued.mail.realm_id, _of_sort(limit))
        recent = select(func.count()).where(
            of_realm,
            mails.c.user_id == queued.user_id,
            mails.c.created_at > queued.mail.created_at - PERIOD,
        )
        return int((await self._transaction.execute(recent)).scalar_one())

    async def _is_full(self, queued: QueuedMail, limit: MailLimit) -> bool:
        """Return whether mails of its sort that wait in the realm leave no room for it."""
        return await self._rows.is_full(queued.realm_id, limit.waiting, _of_sort(limit))

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        return await self._rows.has_due(now, busy)

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[QueuedMail, ...]:
        rows = await self._rows.claim(now, lease, most, busy)
        found = [queued for queued in map(self._read, rows) if queued is not None]
        readable = {queued.mail.id for queued in found}
        lost = [(row.realm_id, row.id) for row in rows if row.id not in readable]
        await self._rows.change(lost, {**_OVER, "failed_at": now, "reason": _UNREADABLE})
        return tuple(found)

    async def postpone(self, queued: QueuedMail, due_at: datetime, reason: str) -> None:
        await self._change(queued, {"due_at": due_at, "reason": reason})

    async def sent(self, queued: QueuedMail, now: datetime) -> None:
        await self._change(queued, {**_OVER, "sent_at": now})

    async def give_up(self, queued: QueuedMail, now: datetime, reason: str) -> None:
        await self._change(queued, {**_OVER, "failed_at": now, "reason": reason})

    async def list(self, realm_id: str, first: int, most: int) -> tuple[MailStatus, ...]:
        shown = (
            select(mails)
            .where(mails.c.realm_id == realm_id, mails.c.sent_at.is_(None))
            .order_by(mails.c.created_at, mails.c.id)
            .offset(first)
            .limit(most)
        )
        return await self._transaction.read(shown, _status)

    async def purge(self, now: datetime) -> None:
        over = or_(mails.c.sent_at <= now - PERIOD, mails.c.failed_at <= now - KEPT_AFTERWARDS)
        await self._transaction.execute(delete(mails).where(over))

    async def _change(self, queued: QueuedMail, values: dict[str, Any]) -> None:
        await self._rows.change([(queued.mail.realm_id, queued.mail.id)], values)

    def _read(self, row: Any) -> QueuedMail | None:
        try:
            opened = self._secrets.unseal(row.content, _context(row.realm_id, row.id))
        except SecretUnreadable:
            return None
        content = json.loads(opened)
        content["arguments"] = tuple(content["arguments"])
        mail = Mail(
            id=row.id,
            realm_id=row.realm_id,
            kind=MailKind(row.kind),
            created_at=row.created_at,
            **content,
        )
        return QueuedMail(mail, row.user_id, row.attempts + 1)


def queued_row(queued: QueuedMail, secrets: SecretsAtRest) -> dict[str, Any]:
    """Return the row of a mail that is due at once."""
    mail = queued.mail
    return {
        "realm_id": mail.realm_id,
        "id": mail.id,
        "user_id": queued.user_id,
        "kind": mail.kind.value,
        "content": secrets.seal(_content(mail), _context(mail.realm_id, mail.id)),
        "created_at": mail.created_at,
        "due_at": mail.created_at,
        "attempts": 0,
    }


def summarized_row(queued: QueuedMail, secrets: SecretsAtRest) -> dict[str, Any]:
    """Return the row of the one mail that replaces all further mails of a period.

    Its id is the same for all of them, so that the first one is stored. It is due when the period
    is over: it reaches the recipient after the last change that it reports.
    """
    mail, end = queued.mail, period_end(queued.mail.created_at)
    names = (mail.realm_id, queued.user_id or "", mail.kind.value, mail.recipient, end.isoformat())
    digest = hashlib.sha256(json.dumps(names).encode()).hexdigest()
    summary = replace(mail, id=str(UUID(digest[:32])))
    return {**queued_row(replace(queued, mail=summary), secrets), "due_at": end}


def _of_sort(limit: MailLimit) -> ColumnElement[bool]:
    return mails.c.kind.in_(sorted(kind.value for kind in limit.kinds))


def _content(mail: Mail) -> str:
    return json.dumps(
        {
            "realm_title": mail.realm_title,
            "recipient": mail.recipient,
            "locale": mail.locale,
            "arguments": mail.arguments,
            "link": mail.link,
            # A gateway of the version before reads mails without a theme alone.
            **({"theme": mail.theme} if mail.theme else {}),
        }
    )


def _status(row: Any) -> MailStatus:
    return MailStatus(**{name: getattr(row, name) for name in MailStatus.__dataclass_fields__})


def _context(realm_id: str, mail_id: str) -> str:
    return f"mail:{realm_id}:{mail_id}"
