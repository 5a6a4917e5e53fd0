"""Queues in the database: mails, webhooks and logout notices.

A gateway claims rows by moving the instant when they are due, so that no second one sends them
meanwhile. PostgreSQL lets gateways pass by the rows that another one is claiming; on SQLite one
transaction writes at a time.

Rows of one realm (and kind) that were tried as often are a line. The index of a table has one line
after another, each by the instant when its rows are due. A claim looks at the first row of each
line, so its cost depends on the number of lines, never on the number of waiting rows.

A mail is a row until a server has accepted it or it is given up. Its content is sealed: it may
contain a link that signs in.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    Column,
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    update,
)

from gateway.domain.deliveries import KEPT_AFTERWARDS as WEBHOOKS_KEPT
from gateway.domain.deliveries import (
    MOST_WAITING,
    DeliveryQueue,
    LogoutNotice,
    RetriedT,
    WebhookDelivery,
    WebhookStatus,
)
from gateway.domain.errors import SecretUnreadable
from gateway.domain.mail import KEPT_AFTERWARDS as MAILS_KEPT
from gateway.domain.mail import (
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
from gateway.domain.secrets import SecretsAtRest
from gateway.storage.sql.column_types import Instant
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.schema import change_log, mails
from gateway.storage.sql.schema import logout_notices as notices
from gateway.storage.sql.schema import webhook_deliveries as webhooks
from gateway.storage.sql.text_search import distinct_values
from gateway.storage.sql.transaction import Transaction, values_of

StatusT = TypeVar("StatusT")


@dataclass(frozen=True, slots=True)
class RowKinds:
    """The column that says what a row is about, and what its values mean."""

    column: Column[Any]
    claimed: frozenset[str]
    """Other kinds are left to other gateways."""
    less_urgent: frozenset[str]
    """Kinds that are claimed last."""


_NOW: Final = bindparam("now", type_=Instant)
_ANY_DUE: Final[dict[tuple[str, frozenset[str]], FixedQuery]] = {}
"""Whether a row is due, by table and claimed kinds."""


class DeliveryRows:
    """The rows of one queue."""

    def __init__(
        self, transaction: Transaction, table: Table, kinds: RowKinds | None = None
    ) -> None:
        self._transaction = transaction
        self._table = table
        self._kinds = kinds
        self._key = tuple(table.primary_key.columns)
        kind = () if kinds is None else (kinds.column,)
        self._line = (table.c.realm_id, *kind, table.c.attempts)

    async def has_due(self, now: datetime, busy: Collection[str]) -> bool:
        """Return whether any row is due, of realms that are not `busy`."""
        if busy:
            return bool(await self._due_lines(now, 1, busy))
        # Each worker asks several times a second, mostly for nothing: compiled once.
        key = (self._table.name, frozenset() if self._kinds is None else self._kinds.claimed)
        query = _ANY_DUE.get(key)
        if query is None:
            first = self._lines(_NOW, ()).limit(literal_column("1")).offset(literal_column("0"))
            query = _ANY_DUE[key] = FixedQuery(first)
        return bool(await self._transaction.fetch(query, now=now))

    async def is_full(self, realm_id: str, most: int, *conditions: ColumnElement[bool]) -> bool:
        """Return whether at least `most` rows of the realm wait that meet the conditions."""
        columns = self._table.c
        waiting = (columns.realm_id == realm_id, columns.due_at.is_not(None), *conditions)
        # By the order of the index of lines, which has all of these columns: nothing is sorted.
        last = select(columns.realm_id).where(*waiting).order_by(*self._line, columns.due_at)
        last = last.offset(most - 1).limit(1)
        return await self._transaction.first(last, _exists) is not None

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str]
    ) -> Sequence[Any]:
        """Return due rows and count the attempt: urgent, least tried, longest due first."""
        columns = self._table.c
        rows: list[Any] = []
        for line in await self._due_lines(now, most, busy):
            due = (
                select(self._table)
                .where(*self._is_of(line), columns.due_at <= now)
                .order_by(columns.due_at)
                .limit(most - len(rows))
                .with_for_update(skip_locked=True)
            )
            rows += (await self._transaction.execute(due)).all()
            if len(rows) == most:
                break
        begun = {"due_at": now + lease, "attempts": columns.attempts + 1}
        await self.change([self._key_of(row) for row in rows], begun)
        return rows

    async def change(self, keys: Collection[tuple[str, ...]], values: dict[str, Any]) -> None:
        """Change the rows with these keys."""
        if keys:
            # SQLite reads the whole table for a list of tuples.
            some = or_(*map(self._is_row, sorted(keys)))
            await self._transaction.execute(update(self._table).where(some).values(values))

    async def _due_lines(self, now: datetime, most: int, busy: Collection[str]) -> Sequence[Any]:
        """Return the first lines with a due row, in the order in which they are claimed."""
        rows = await self._transaction.execute(self._lines(now, busy).limit(most))
        return rows.all()

    def _lines(self, now: datetime | BindParameter[datetime], busy: Collection[str]) -> Select[Any]:
        waits = self._table.c.due_at.is_not(None)
        lines = distinct_values(self._line, waits)
        first = select(func.min(self._table.c.due_at)).where(*self._is_of(lines.c), waits)
        head = first.correlate(lines).scalar_subquery().label(self._table.c.due_at.name)
        # Materialized: a subquery would be evaluated each time when it is named.
        heads = select(*lines.c, head).where(lines.c.attempts.is_not(None)).cte("heads")
        heads = heads.prefix_with("MATERIALIZED")
        conditions = [heads.c.due_at <= now]
        urgency: tuple[ColumnElement[bool], ...] = ()
        if busy:
            conditions.append(heads.c.realm_id.not_in(sorted(busy)))
        if self._kinds is not None:
            kind = heads.c[self._kinds.column.name]
            conditions.append(kind.in_(_texts(self._kinds.claimed)))
            urgency = (kind.in_(_texts(self._kinds.less_urgent)),)
        query = select(heads).where(*conditions)
        return query.order_by(*urgency, heads.c.attempts, heads.c.due_at, heads.c.realm_id)

    def _is_of(self, line: Any) -> Sequence[ColumnElement[bool]]:
        return tuple(column == getattr(line, column.name) for column in self._line)

    def _is_row(self, key: tuple[str, ...]) -> ColumnElement[bool]:
        return and_(*(column == value for column, value in zip(self._key, key, strict=True)))

    def _key_of(self, row: Any) -> tuple[str, ...]:
        return tuple(getattr(row, column.name) for column in self._key)


def _texts(kinds: Collection[str]) -> Sequence[ColumnElement[str]]:
    """Return constants of our own as a part of the statement, which may then be compiled once."""
    return [literal_column(f"'{kind}'") for kind in sorted(kinds)]


def _exists(_row: Any) -> bool:
    return True


class SqlDeliveryQueue(Generic[RetriedT, StatusT]):
    """What the queues of mails and of webhooks have in common, on SQL."""

    status: type[StatusT]
    ended: Mapping[str, Any]
    """What a row has once it is given up or sent."""

    def __init__(
        self, transaction: Transaction, table: Table, kinds: RowKinds | None = None
    ) -> None:
        self._transaction = transaction
        self._table = table
        self._rows = DeliveryRows(transaction, table, kinds)

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        return await self._rows.has_due(now, busy)

    async def postpone(self, claimed: RetriedT, due_at: datetime, reason: str) -> None:
        await self._change(claimed, {"due_at": due_at, "reason": reason})

    async def give_up(self, claimed: RetriedT, now: datetime, reason: str) -> None:
        await self._change(claimed, {**self.ended, "failed_at": now, "reason": reason})

    async def _change(self, claimed: RetriedT, values: dict[str, Any]) -> None:
        await self._rows.change([(claimed.realm_id, claimed.id)], values)

    async def _list_deliveries(
        self, realm_id: str, first: int, most: int, *conditions: ColumnElement[bool]
    ) -> tuple[StatusT, ...]:
        columns = self._table.c
        shown = select(self._table).where(columns.realm_id == realm_id, *conditions)
        page = shown.order_by(columns.created_at, columns.id).offset(first).limit(most)
        return await self._transaction.read_rows(page, self._parse_status)

    def _parse_status(self, row: Any) -> StatusT:
        names = (each.name for each in fields(self.status))  # type: ignore[arg-type] # a dataclass
        return self.status(**values_of(row, names))


_SENT: Final = MappingProxyType({"due_at": None, "content": ""})
KINDS = RowKinds(mails.c.kind, claimed=frozenset(MailKind), less_urgent=NOTIFICATIONS)
"""A newer gateway sends what this one does not know."""
_CONTENT: Final = ("realm_title", "recipient", "locale", "arguments", "link")
_UNREADABLE = "the encryption key does not open it"


class SqlMails(SqlDeliveryQueue[QueuedMail, MailStatus]):
    """MailQueue on SQL."""

    status, ended = MailStatus, _SENT

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        super().__init__(transaction, mails, KINDS)
        self._secrets = secrets

    async def add(self, queued: QueuedMail) -> bool:
        limit = limit_of(queued.mail.kind)
        count = await self._count_recent(queued, limit)
        is_full = await self._rows.is_full(queued.realm_id, limit.waiting, _of_sort(limit))
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
        self._transaction.queued.add(DeliveryQueue.MAILS)
        return True

    async def _do_same_work(self, queued: QueuedMail) -> None:
        """Take as long as for a mail: write a row that says nothing and is purged as others."""
        queued_row(queued, self._secrets)
        await self._transaction.insert_missing(change_log, [{"topics": ()}])
        self._transaction.queued.add(DeliveryQueue.MAILS)

    async def _count_recent(self, queued: QueuedMail, limit: MailLimit) -> int:
        """Return how many mails of its sort the user has got in the period."""
        of_realm = and_(mails.c.realm_id == queued.mail.realm_id, _of_sort(limit))
        recent = select(func.count()).where(
            of_realm,
            mails.c.user_id == queued.user_id,
            mails.c.created_at > queued.mail.created_at - PERIOD,
        )
        return await self._transaction.count_rows(recent)

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[QueuedMail, ...]:
        rows = await self._rows.claim(now, lease, most, busy)
        found = [queued for queued in map(self._read, rows) if queued is not None]
        readable = {queued.mail.id for queued in found}
        lost = [(row.realm_id, row.id) for row in rows if row.id not in readable]
        await self._rows.change(lost, {**_SENT, "failed_at": now, "reason": _UNREADABLE})
        return tuple(found)

    async def delivered(self, claimed: QueuedMail, now: datetime) -> None:
        await self._change(claimed, {**_SENT, "sent_at": now})

    async def list_deliveries(self, realm_id: str, first: int, most: int) -> tuple[MailStatus, ...]:
        return await self._list_deliveries(realm_id, first, most, mails.c.sent_at.is_(None))

    async def purge(self, now: datetime) -> None:
        over = or_(mails.c.sent_at <= now - PERIOD, mails.c.failed_at <= now - MAILS_KEPT)
        await self._transaction.delete_rows(mails, over)

    def _read(self, row: Any) -> QueuedMail | None:
        try:
            opened = self._secrets.unseal(row.content, _context(row.realm_id, row.id))
        except SecretUnreadable:
            return None
        content = json.loads(opened)
        content["arguments"] = tuple(content["arguments"])
        own = values_of(row, ("id", "realm_id", "created_at"))
        mail = Mail(**own, kind=MailKind(row.kind), **content)
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
    # A gateway of the version before reads mails without a theme alone.
    theme = ("theme",) if mail.theme else ()
    return json.dumps(values_of(mail, (*_CONTENT, *theme)))


def _context(realm_id: str, mail_id: str) -> str:
    return f"mail:{realm_id}:{mail_id}"


class SqlWebhooks(SqlDeliveryQueue[WebhookDelivery, WebhookStatus]):
    """WebhookQueue on SQL."""

    status, ended = WebhookStatus, MappingProxyType({"due_at": None})

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, webhooks)

    async def add(self, realm_id: str, added: Sequence[WebhookDelivery]) -> bool:
        if await self._rows.is_full(realm_id, MOST_WAITING):
            return False
        rows = [
            {"realm_id": realm_id, "due_at": delivery.created_at, "attempts": 0}
            | values_of(delivery, ("id", "body", "created_at"))
            for delivery in added
        ]
        await self._transaction.insert_missing(webhooks, rows)
        self._transaction.queued.add(DeliveryQueue.WEBHOOKS)
        return True

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[WebhookDelivery, ...]:
        return tuple(map(_delivery, await self._rows.claim(now, lease, most, busy)))

    async def delivered(self, claimed: WebhookDelivery, now: datetime) -> None:  # noqa: ARG002
        await self._transaction.remove_row(webhooks, claimed.realm_id, claimed.id)

    async def list_deliveries(
        self, realm_id: str, first: int, most: int
    ) -> tuple[WebhookStatus, ...]:
        return await self._list_deliveries(realm_id, first, most)

    async def retry(self, realm_id: str, now: datetime) -> int:
        given_up = webhooks.c.realm_id == realm_id, webhooks.c.failed_at.is_not(None)
        again = {"due_at": now, "created_at": now, "attempts": 0, "failed_at": None}
        self._transaction.queued.add(DeliveryQueue.WEBHOOKS)
        return await self._transaction.count_changed(
            update(webhooks).where(*given_up).values(again)
        )

    async def purge(self, now: datetime) -> None:
        await self._transaction.delete_rows(webhooks, webhooks.c.failed_at <= now - WEBHOOKS_KEPT)


def _delivery(row: Any) -> WebhookDelivery:
    return WebhookDelivery(row.realm_id, row.id, row.body, row.created_at, row.attempts + 1)


_FIELDS = tuple(field.name for field in fields(LogoutNotice))


class SqlLogoutNotices:
    """LogoutNoticeQueue on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._rows = DeliveryRows(transaction, notices)

    async def add_notices(self, added: Sequence[LogoutNotice]) -> None:
        rows = [values_of(each, _FIELDS) | {"due_at": each.created_at} for each in added]
        await self._transaction.insert_missing(notices, rows)
        if rows:
            self._transaction.queued.add(DeliveryQueue.LOGOUT_NOTICES)

    async def has_due(self, now: datetime, busy: Collection[str] = ()) -> bool:
        return await self._rows.has_due(now, busy)

    async def claim(
        self, now: datetime, lease: timedelta, most: int, busy: Collection[str] = ()
    ) -> tuple[LogoutNotice, ...]:
        found = map(_parse_notice, await self._rows.claim(now, lease, most, busy))
        return tuple(replace(notice, attempts=notice.attempts + 1) for notice in found)

    async def postpone(self, notice: LogoutNotice, due_at: datetime) -> None:
        key = (notice.realm_id, notice.session_id, notice.client)
        await self._rows.change([key], {"due_at": due_at})

    async def remove_notice(self, notice: LogoutNotice) -> None:
        key = values_of(notice, ("realm_id", "session_id", "client"))
        await self._transaction.delete_rows(notices, **key)


def _parse_notice(row: Any) -> LogoutNotice:
    return LogoutNotice(**values_of(row, _FIELDS))
