"""Tables of certificates: authorities, deny lists, seen certificates, and what expires."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Select,
    String,
    Text,
    and_,
    case,
    cast,
    exists,
    func,
    or_,
    select,
    type_coerce,
)

from gateway.domain.certificates import (
    STORED_DENIED_CERTIFICATES,
    DeniedCertificate,
    DeniedIdentity,
    PresentedCertificate,
)
from gateway.domain.clients import CERTIFICATE_ATTRIBUTES
from gateway.domain.expiry import (
    LONGEST_NAME,
    LONGEST_NAMES,
    MOST_SEEN,
    WINDOWS,
    ExpiryKind,
    ExpirySummary,
    SeenCertificate,
    Sighting,
    StoredCertificate,
    name_digest,
    watched_from,
)
from gateway.domain.keys import KeyStatus
from gateway.storage.sql.clients import decode_client
from gateway.storage.sql.column_types import Instant, is_name
from gateway.storage.sql.resources import SqlResources
from gateway.storage.sql.schema import (
    authorities,
    clients,
    expiry_notices,
    realm_keys,
    realms,
    users,
)
from gateway.storage.sql.schema import denied_certificates as entries
from gateway.storage.sql.schema import seen_certificates as seen
from gateway.storage.sql.text_search import may_contain
from gateway.storage.sql.transaction import (
    SqlRepository,
    Transaction,
    insert_into,
    portions,
    values_of,
)


class SqlDeniedCertificates(SqlResources[DeniedCertificate]):
    """DeniedCertificateRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, STORED_DENIED_CERTIFICATES)

    async def identities(self, realm_id: str) -> Sequence[DeniedIdentity]:
        columns = entries.c.id, entries.c.serial, entries.c.expires_at
        of_realm = select(*columns).where(entries.c.realm_id == realm_id)
        return await self._transaction.read_rows(of_realm, lambda row: DeniedIdentity(*row))

    async def purge(self, before: datetime) -> int:
        return await self._transaction.delete_rows(entries, entries.c.expires_at < before)


class SqlCertificateInventory(SqlRepository):
    """CertificateInventory on SQL."""

    async def list_certificates(self, realm: str | None = None) -> tuple[StoredCertificate, ...]:
        found: list[StoredCertificate | None] = []
        for rows, read in ((_KEYS, _key), (_AUTHORITIES, _authority), (_CLIENTS, _client)):
            chosen = rows if realm is None else rows.where(realms.c.name == realm)
            found += await self._transaction.read_rows(chosen, read)
        return tuple(each for each in found if each is not None)


def _of_realms(realm_id: Column[Any], *columns: ColumnElement[Any]) -> Select[Any]:
    return select(realms.c.name.label("realm"), *columns).join(realms, realms.c.id == realm_id)


_KEYS: Final = _of_realms(
    realm_keys.c.realm_id, realm_keys.c.kid, realm_keys.c.certificate, realm_keys.c.retire_at
).where(realm_keys.c.certificate.is_not(None), realm_keys.c.status != KeyStatus.DISABLED.value)
_ENCODED: Final = type_coerce(authorities.c.certificate, Text).label("certificate")
_AUTHORITIES: Final = _of_realms(authorities.c.realm_id, _ENCODED, clients.c.client_id).outerjoin(
    clients,
    (clients.c.realm_id == authorities.c.realm_id) & (clients.c.id == authorities.c.client),
)
_settings: Final = cast(clients.c.settings, String)
_CLIENTS: Final = _of_realms(
    clients.c.realm_id, clients.c.id, clients.c.client_id, clients.c.settings
).where(
    # Most clients have none, and their documents need not be parsed.
    or_(*(_settings.contains(f'"{name}"', autoescape=True) for name in CERTIFICATE_ATTRIBUTES))
)


def _key(row: Any) -> StoredCertificate:
    return StoredCertificate(
        ExpiryKind.REALM_KEY, row.realm, row.certificate, name=row.kid, ends_at=row.retire_at
    )


def _authority(row: Any) -> StoredCertificate:
    return StoredCertificate(ExpiryKind.AUTHORITY, row.realm, row.certificate, client=row.client_id)


def _client(row: Any) -> StoredCertificate | None:
    client = decode_client(row.settings, row.realm, row.id, row.client_id)
    registered = client.verification_keys
    content = registered.key_set if registered.uses_key_set else registered.certificate
    if not content:
        return None
    return StoredCertificate(
        ExpiryKind.REGISTERED_CERTIFICATE, row.realm, content, client=client.client_id
    )


class SqlExpiryNotices(SqlRepository):
    """ExpiryNotices on SQL."""

    async def last_at(self, realm_id: str) -> datetime | None:
        last = select(func.max(expiry_notices.c.noticed_at, type_=Instant)).where(
            expiry_notices.c.realm_id == realm_id
        )
        found: datetime | None = (await self._transaction.execute(last)).scalar_one()
        return found

    async def list_reported_days(self, realm_id: str, ids: Collection[str]) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for some in portions(sorted(ids)):
            rows = (
                select(expiry_notices.c.id, func.min(expiry_notices.c.days).label("days"))
                .where(expiry_notices.c.realm_id == realm_id, expiry_notices.c.id.in_(some))
                .group_by(expiry_notices.c.id)
            )
            found |= dict(await self._transaction.read_rows(rows, lambda row: (row.id, row.days)))
        return found

    async def add_notices(
        self, realm_id: str, notices: Mapping[str, tuple[int, datetime]], now: datetime
    ) -> None:
        key = {"realm_id": realm_id, "noticed_at": now}
        rows = [
            key | {"id": identity, "days": days, "expires_at": expires_at}
            for identity, (days, expires_at) in sorted(notices.items())
        ]
        await self._transaction.insert_missing(expiry_notices, rows)

    async def purge(self, before: datetime) -> None:
        await self._transaction.delete_rows(expiry_notices, expiry_notices.c.expires_at < before)


_later: Final = seen.alias("later")
_IS_RENEWED: Final = exists().where(
    _later.c.realm_id == seen.c.realm_id,
    _later.c.names == seen.c.names,
    _later.c.expires_at > seen.c.expires_at,
)


_ACCOUNT: Final = and_(
    users.c.realm_id == seen.c.realm_id,
    users.c.id == seen.c.user_id,
    users.c.service_account_client.is_(None),
)


class SqlSeenCertificates(SqlRepository):
    """SeenCertificateRepository on SQL."""

    async def record(self, sightings: Sequence[Sighting]) -> None:
        ids = {sighting.realm_id for sighting in sightings}
        found = select(realms.c.id).where(realms.c.id.in_(sorted(ids)))
        known = set(await self._transaction.read_rows(found, lambda row: str(row.id)))
        # In one order: two gateways that write the same rows must not wait for each other.
        rows = sorted(
            (_render_sighting(sighting) for sighting in sightings if sighting.realm_id in known),
            key=lambda row: (row["realm_id"], row["id"]),
        )
        if not rows:
            return
        insert = insert_into(seen, self._transaction.dialect)
        sent = insert.excluded
        is_news = or_(
            seen.c.last_seen_at < sent.last_seen_at,
            and_(seen.c.client.is_(None), sent.client.is_not(None)),
            seen.c.last_token_at < sent.last_token_at,
            and_(seen.c.last_token_at.is_(None), sent.last_token_at.is_not(None)),
            seen.c.serial.is_(None),
        )
        used_by = {
            name: func.coalesce(sent[name], seen.c[name]).label(name)
            for name in ("client", "user_id", "last_token_at", "serial", "alternative_names")
        }
        first = func.coalesce(seen.c.first_seen_at, sent.first_seen_at)
        statement = insert.on_conflict_do_update(
            index_elements=["realm_id", "id"],
            set_={"first_seen_at": first, "last_seen_at": sent.last_seen_at, **used_by},
            where=is_news,
        )
        await self._transaction.execute(statement, rows)
        for realm_id in sorted(known):
            await self._evict(realm_id)

    async def list_certificates(
        self, realm: str | None, now: datetime, within: timedelta | None, most: int
    ) -> tuple[SeenCertificate, ...]:
        rows = (
            select(seen, realms.c.name.label("realm"), users.c.username)
            .join(realms, realms.c.id == seen.c.realm_id)
            .outerjoin(users, _ACCOUNT)
            .where(~_IS_RENEWED)
            .order_by(seen.c.expires_at, seen.c.id)
            .limit(most)
        )
        if realm is not None:
            rows = rows.where(realms.c.name == realm)
        if within is not None:
            rows = rows.where(_is_due(now, within))
        return await self._transaction.read_rows(rows, _parse_seen_certificate)

    async def list_of_realm(
        self, realm_id: str, client: str | None, part: str, most: int
    ) -> tuple[SeenCertificate, ...]:
        rows = (
            select(seen, realms.c.name.label("realm"), users.c.username)
            .join(realms, realms.c.id == seen.c.realm_id)
            .outerjoin(users, _ACCOUNT)
            .where(seen.c.realm_id == realm_id)
            .order_by(seen.c.last_seen_at.desc(), seen.c.subject, seen.c.id)
            .limit(most)
        )
        if client is not None:
            rows = rows.where(seen.c.client == client)
        if part:
            named = (seen.c.subject, seen.c.alternative_names, seen.c.id, seen.c.serial)
            rows = rows.where(or_(*(may_contain(column, part) for column in named)))
        return await self._transaction.read_rows(rows, _parse_seen_certificate)

    async def subjects(self, realm_id: str, ids: Collection[str]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for some in portions(sorted(ids)):
            rows = select(seen.c.id, seen.c.subject).where(
                seen.c.realm_id == realm_id, seen.c.id.in_(some)
            )
            found |= dict(
                await self._transaction.read_rows(rows, lambda row: (row.id, row.subject))
            )
        return found

    async def summarize(self, now: datetime) -> tuple[ExpirySummary, ...]:
        counts = [func.sum(case((_is_due(now, window), 1), else_=0)) for window in WINDOWS.values()]
        first = func.min(seen.c.expires_at, type_=Instant).label("first")
        rows = (
            select(realms.c.name, first, *counts)
            .join(realms, realms.c.id == seen.c.realm_id)
            .where(~_IS_RENEWED)
            .group_by(realms.c.name)
        )
        return await self._transaction.read_rows(rows, _summary)

    async def purge(self, before: datetime) -> None:
        await self._transaction.delete_rows(seen, seen.c.expires_at < before)

    async def _evict(self, realm_id: str) -> None:
        """Remove what was seen longest ago where the realm has too many."""
        of_realm = seen.c.realm_id == realm_id
        count = select(func.count()).select_from(seen).where(of_realm)
        surplus = await self._transaction.count_rows(count) - MOST_SEEN
        if surplus > 0:
            oldest = select(seen.c.id).where(of_realm).order_by(seen.c.last_seen_at, seen.c.id)
            await self._transaction.delete_rows(
                seen, of_realm, seen.c.id.in_(oldest.limit(surplus))
            )


def _is_due(now: datetime, within: timedelta) -> ColumnElement[bool]:
    return and_(seen.c.expires_at <= now + within, seen.c.watched_from <= now)


def _render_sighting(sighting: Sighting) -> dict[str, Any]:
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
        "serial": leaf.serial,
        "alternative_names": _names(leaf),
        "first_seen_at": sighting.noted_at,
        "last_token_at": sighting.token_at,
        "client": _storable(sighting.client),
        "user_id": _storable(sighting.user_id),
    }


def _storable(name: str | None) -> str | None:
    return name if name is not None and is_name(name) else None


def _shortened(name: str) -> str:
    """Return what is kept of a name, in which the databases may not hold every character."""
    text = name.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _names(leaf: PresentedCertificate) -> str:
    """Return the alternative names as JSON: the first ones where they are many."""
    found: dict[str, list[str]] = {}
    left = LONGEST_NAMES
    named = [("uri", name) for name in leaf.uris]
    named += [("dns", name) for name in leaf.dns_names]
    named += [("email", name) for name in leaf.emails]
    for kind, name in named:
        left -= len(name)
        if left < 0:
            break
        found.setdefault(kind, []).append(name)
    return json.dumps(found)


def _parse_seen_certificate(row: Any) -> SeenCertificate:
    values = values_of(row, SeenCertificate.__dataclass_fields__)
    names = json.loads(values["alternative_names"] or "{}")
    return SeenCertificate(
        **{**values, "alternative_names": {kind: tuple(some) for kind, some in names.items()}}
    )


def _summary(row: Any) -> ExpirySummary:
    name, first, *counts = row
    return ExpirySummary(ExpiryKind.CLIENT_CERTIFICATE, name, first, tuple(map(int, counts)))
