"""Certificates that were presented: a row each, written once a day."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, case, delete, exists, func, or_, select

from gateway.domain.expiry import (
    LONGEST_NAME,
    MOST_SEEN,
    WINDOWS,
    ExpiryKind,
    ExpirySummary,
    SeenCertificate,
    Sighting,
    name_digest,
    watched_from,
)
from gateway.storage.sql.column_types import Instant, is_name
from gateway.storage.sql.expiry.tables import seen_certificates as seen
from gateway.storage.sql.schema import realms, users
from gateway.storage.sql.transaction import Transaction, insert_into

_later: Final = seen.alias("later")
_IS_RENEWED: Final = exists().where(
    _later.c.realm_id == seen.c.realm_id,
    _later.c.names == seen.c.names,
    _later.c.expires_at > seen.c.expires_at,
)


class SqlSeenCertificates:
    """SeenCertificateRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def record(self, sightings: Sequence[Sighting]) -> None:
        ids = {sighting.realm_id for sighting in sightings}
        found = select(realms.c.id).where(realms.c.id.in_(sorted(ids)))
        known = set(await self._transaction.read(found, lambda row: str(row.id)))
        # In one order: two gateways that write the same rows must not wait for each other.
        rows = sorted(
            (_row(sighting) for sighting in sightings if sighting.realm_id in known),
            key=lambda row: (row["realm_id"], row["id"]),
        )
        if not rows:
            return
        insert = insert_into(seen, self._transaction.dialect)
        sent = insert.excluded
        is_news = or_(
            seen.c.last_seen_at < sent.last_seen_at,
            and_(seen.c.client.is_(None), sent.client.is_not(None)),
        )
        used_by = {
            name: func.coalesce(sent[name], seen.c[name]).label(name)
            for name in ("client", "user_id")
        }
        statement = insert.on_conflict_do_update(
            index_elements=["realm_id", "id"],
            set_={"last_seen_at": sent.last_seen_at, **used_by},
            where=is_news,
        )
        await self._transaction.execute(statement, rows)
        for realm_id in sorted(known):
            await self._evict(realm_id)

    async def list(
        self, realm: str | None, now: datetime, within: timedelta | None, most: int
    ) -> tuple[SeenCertificate, ...]:
        account = and_(
            users.c.realm_id == seen.c.realm_id,
            users.c.id == seen.c.user_id,
            users.c.service_account_client.is_(None),
        )
        rows = (
            select(seen, realms.c.name.label("realm"), users.c.username)
            .join(realms, realms.c.id == seen.c.realm_id)
            .outerjoin(users, account)
            .where(~_IS_RENEWED)
            .order_by(seen.c.expires_at, seen.c.id)
            .limit(most)
        )
        if realm is not None:
            rows = rows.where(realms.c.name == realm)
        if within is not None:
            rows = rows.where(_is_due(now, within))
        return await self._transaction.read(rows, _read)

    async def summarize(self, now: datetime) -> tuple[ExpirySummary, ...]:
        counts = [func.sum(case((_is_due(now, window), 1), else_=0)) for window in WINDOWS.values()]
        first = func.min(seen.c.expires_at, type_=Instant).label("first")
        rows = (
            select(realms.c.name, first, *counts)
            .join(realms, realms.c.id == seen.c.realm_id)
            .where(~_IS_RENEWED)
            .group_by(realms.c.name)
        )
        return await self._transaction.read(rows, _summary)

    async def purge(self, before: datetime) -> None:
        await self._transaction.execute(delete(seen).where(seen.c.expires_at < before))

    async def _evict(self, realm_id: str) -> None:
        """Remove what was seen longest ago where the realm has too many."""
        of_realm = seen.c.realm_id == realm_id
        count = select(func.count()).select_from(seen).where(of_realm)
        surplus = (await self._transaction.execute(count)).scalar_one() - MOST_SEEN
        if surplus > 0:
            oldest = select(seen.c.id).where(of_realm).order_by(seen.c.last_seen_at, seen.c.id)
            await self._transaction.execute(
                delete(seen).where(of_realm, seen.c.id.in_(oldest.limit(surplus)))
            )


def _is_due(now: datetime, within: timedelta) -> ColumnElement[bool]:
    return and_(seen.c.expires_at <= now + within, seen.c.watched_from <= now)


def _row(sighting: Sighting) -> dict[str, Any]:
    leaf = sighting.leaf
    return {
        "realm_id": sighting.realm_id,
        "id": leaf.thumbprint,
        "names": name_digest(leaf),
        "subject": _shortened(leaf.subject.rfc4514()),
        "issuer": _shortened(leaf.issuer.rfc4514()),
        "begins_at": leaf.not_before,
        "watched_from": watched_from(leaf.not_before, leaf.not_after),
        "expires_at": leaf.not_after,
        "last_seen_at": sighting.seen_at,
        "client": _storable(sighting.client),
        "user_id": _storable(sighting.user_id),
    }


def _storable(name: str | None) -> str | None:
    return name if name is not None and is_name(name) else None


def _shortened(name: str) -> str:
    """Return what is kept of a name, in which the databases may not hold every character."""
    text = name.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _read(row: Any) -> SeenCertificate:
    names = (*SeenCertificate.__dataclass_fields__,)
    return SeenCertificate(**{name: getattr(row, name) for name in names})


def _summary(row: Any) -> ExpirySummary:
    name, first, *counts = row
    return ExpirySummary(ExpiryKind.CLIENT_CERTIFICATE, name, first, tuple(map(int, counts)))
