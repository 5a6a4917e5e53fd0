"""The certificates that realms have stored, with those of keys, authorities and clients."""

from typing import Any, Final

from sqlalchemy import Column, Select, String, cast, or_, select

from gateway.domain.expiry import ExpiryKind, StoredCertificate
from gateway.domain.keys import KeyStatus
from gateway.representations.clients import CERTIFICATE_ATTRIBUTES, restore_client
from gateway.storage.sql.authorities.tables import authorities
from gateway.storage.sql.schema import clients, realm_keys, realms
from gateway.storage.sql.transaction import Transaction


class SqlCertificateInventory:
    """CertificateInventory on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm: str | None = None) -> tuple[StoredCertificate, ...]:
        found: list[StoredCertificate | None] = []
        for rows, read in ((_KEYS, _key), (_AUTHORITIES, _authority), (_CLIENTS, _client)):
            chosen = rows if realm is None else rows.where(realms.c.name == realm)
            found += await self._transaction.read(chosen, read)
        return tuple(each for each in found if each is not None)


def _of_realms(realm_id: Column[Any], *columns: Column[Any]) -> Select[Any]:
    return select(realms.c.name.label("realm"), *columns).join(realms, realms.c.id == realm_id)


_KEYS: Final = _of_realms(
    realm_keys.c.realm_id, realm_keys.c.kid, realm_keys.c.certificate, realm_keys.c.retire_at
).where(realm_keys.c.certificate.is_not(None), realm_keys.c.status != KeyStatus.DISABLED.value)
_AUTHORITIES: Final = _of_realms(
    authorities.c.realm_id, authorities.c.certificate, clients.c.client_id
).outerjoin(
    clients,
    (clients.c.realm_id == authorities.c.realm_id) & (clients.c.id == authorities.c.client),
)
_document: Final = cast(clients.c.document, String)
_CLIENTS: Final = _of_realms(clients.c.realm_id, clients.c.document).where(
    # Most clients have none, and their documents need not be parsed.
    or_(*(_document.contains(f'"{name}"', autoescape=True) for name in CERTIFICATE_ATTRIBUTES))
)


def _key(row: Any) -> StoredCertificate:
    return StoredCertificate(
        ExpiryKind.REALM_KEY, row.realm, row.certificate, name=row.kid, ends_at=row.retire_at
    )


def _authority(row: Any) -> StoredCertificate:
    return StoredCertificate(ExpiryKind.AUTHORITY, row.realm, row.certificate, client=row.client_id)


def _client(row: Any) -> StoredCertificate | None:
    client = restore_client(row.document, row.realm)
    registered = client.verification_keys
    content = registered.key_set if registered.uses_key_set else registered.certificate
    if not content:
        return None
    return StoredCertificate(
        ExpiryKind.REGISTERED_CERTIFICATE, row.realm, content, client=client.client_id
    )
