"""Rows of credentials, whose secrets are sealed, and the owner of a security key.

Keycloak: CredentialRepresentation; Spec: WebAuthn Level 3 §7.1
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select

from gateway.domain.errors import AlreadyExists
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.users import Credential
from gateway.domain.web_authn import key_digest
from gateway.storage.sql.schema import credentials
from gateway.storage.sql.transaction import Transaction, lock_texts, portions

KEY_TAKEN: Final = "The key is registered already."


async def require_own_keys(
    transaction: Transaction, realm_id: str, held: Sequence[Credential]
) -> None:
    """Raise AlreadyExists for a security key or passkey of another user.

    The unique index is for each type, because a user may register one key for both of them.
    """
    owners: dict[str, str] = {}
    for each in held:
        key_id = key_digest(each.type, each.credential_data)
        if key_id is not None and owners.setdefault(key_id, each.user_id) != each.user_id:
            raise AlreadyExists(KEY_TAKEN)
    if not owners:
        return
    await lock_texts(transaction, [f"{realm_id}/key/{key_id}" for key_id in owners])
    for portion in portions(sorted(owners)):
        registered = select(credentials.c.key_id, credentials.c.user_id).where(
            credentials.c.realm_id == realm_id, credentials.c.key_id.in_(portion)
        )
        for row in await transaction.execute(registered):
            if owners[row.key_id] != row.user_id:
                raise AlreadyExists(KEY_TAKEN)


def credential_row(
    realm_id: str, credential: Credential, secrets: SecretsAtRest, now: datetime
) -> dict[str, Any]:
    """Return the columns of a credential, whose secret is sealed; a new one is set `now`."""
    return {
        "realm_id": realm_id,
        "id": credential.id,
        "user_id": credential.user_id,
        "type": credential.type,
        "created_at": credential.created_at,
        "credential_data": credential.credential_data,
        "secret_data": secrets.seal(
            credential.secret_data, credential_context(realm_id, credential.id)
        ),
        "priority": credential.priority,
        "user_label": credential.label,
        "key_id": key_digest(credential.type, credential.credential_data),
        "set_at": credential.set_at or now,
    }


async def credentials_of(
    transaction: Transaction, secrets: SecretsAtRest, realm_id: str, user_ids: Sequence[str]
) -> tuple[Credential, ...]:
    """Return the credentials of the users, those of one by priority."""
    rows = await transaction.execute(
        select(credentials)
        .where(credentials.c.realm_id == realm_id, credentials.c.user_id.in_(user_ids))
        .order_by(credentials.c.priority, credentials.c.created_at, credentials.c.id)
    )
    return tuple(read_credential(row, secrets) for row in rows)


def read_credential(row: Any, secrets: SecretsAtRest) -> Credential:
    """Return the credential of a row of all columns, opened."""
    return Credential(
        id=row.id,
        user_id=row.user_id,
        type=row.type,
        created_at=row.created_at,
        credential_data=row.credential_data,
        secret_data=secrets.unseal(row.secret_data, credential_context(row.realm_id, row.id)),
        priority=row.priority,
        label=row.user_label,
        set_at=row.set_at,
    )


def credential_context(realm_id: str, credential_id: str) -> str:
    """Return the context that a credential's secret is sealed with."""
    return f"credential:{realm_id}:{credential_id}"
