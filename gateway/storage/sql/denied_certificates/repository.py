"""Deny lists: a row for each entry."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, func, insert, select

from gateway.domain.denied_certificates import (
    DeniedCertificate,
    DeniedIdentity,
    IssuedSerial,
)
from gateway.domain.distinguished_names import DistinguishedName, parse_distinguished_name
from gateway.domain.limits.caches import cached
from gateway.storage.sql.denied_certificates.tables import denied_certificates as entries
from gateway.storage.sql.transaction import Transaction

_ISSUER_BYTES: Final = 1024 * 1024


class SqlDeniedCertificates:
    """DeniedCertificateRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(
        self, realm_id: str, first: int = 0, maximum: int | None = None
    ) -> Sequence[DeniedCertificate]:
        of_realm = select(entries).where(entries.c.realm_id == realm_id)
        page = of_realm.order_by(entries.c.created_at, entries.c.id).offset(first).limit(maximum)
        return await self._transaction.read(page, _read)

    async def identities(self, realm_id: str) -> Sequence[DeniedIdentity]:
        columns = entries.c.id, entries.c.serial, entries.c.expires_at
        of_realm = select(*columns).where(entries.c.realm_id == realm_id)
        return await self._transaction.read(of_realm, _read_identity)

    async def count(self, realm_id: str) -> int:
        of_realm = select(func.count()).where(entries.c.realm_id == realm_id)
        return int((await self._transaction.execute(of_realm)).scalar_one())

    async def find(self, realm_id: str, identity: str) -> DeniedCertificate | None:
        return await self._transaction.get(entries, realm_id, identity, _read)

    async def add(self, realm_id: str, entry: DeniedCertificate) -> None:
        values: dict[str, Any] = {
            "realm_id": realm_id,
            "id": entry.id,
            "reason": entry.reason,
            "created_at": entry.created_at,
            "expires_at": entry.expires_at,
        }
        if isinstance(entry.certificate, IssuedSerial):
            values["issuer"] = str(entry.certificate.issuer)
            values["serial"] = f"{entry.certificate.serial:x}"
        await self._transaction.execute(
            insert(entries), values, taken="The certificate is on the deny list already"
        )

    async def remove(self, realm_id: str, identity: str) -> bool:
        return await self._transaction.remove(entries, realm_id, identity)

    async def purge(self, before: datetime) -> int:
        return await self._transaction.count_changed(
            delete(entries).where(entries.c.expires_at < before)
        )


def _read(row: Any) -> DeniedCertificate:
    certificate: str | IssuedSerial = row.id
    if row.issuer is not None:
        certificate = IssuedSerial(_issuer(row.issuer), int(row.serial, 16))
    return DeniedCertificate(certificate, row.created_at, row.reason, row.expires_at)


def _read_identity(row: Any) -> DeniedIdentity:
    serial = None if row.serial is None else int(row.serial, 16)
    return DeniedIdentity(row.id, serial, row.expires_at)


# Many entries of a list have the same issuer.
@cached(_ISSUER_BYTES)
def _issuer(text: str) -> DistinguishedName:
    return parse_distinguished_name(text)
