"""Rows of credentials with sealed secrets, owners of security keys, and costs of password hashes.

The table of costs has a row for each cost in use in a realm. A refused sign-in takes the work of
the highest cost, for every name. A row is written with each password; `recount_costs` removes
unused rows. Keycloak: CredentialRepresentation; Spec: WebAuthn Level 3 §7.1
"""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Column, ForeignKey, Integer, Table, or_, select

from gateway.domain.errors import AlreadyExists
from gateway.domain.limits.password_hashing import HashCost, hash_cost_of
from gateway.domain.secrets import SecretsAtRest
from gateway.domain.users import PASSWORD, Credential
from gateway.domain.web_authn import key_digest
from gateway.storage.sql.column_types import Name
from gateway.storage.sql.schema import credentials, metadata
from gateway.storage.sql.transaction import Transaction, has, lock_texts, portions

KEY_TAKEN: Final = "The key is registered already."


async def require_own_keys(
    transaction: Transaction, realm_id: str, held: Sequence[Credential]
) -> None:
    """Raise AlreadyExists for a key of another user; one user may register it for both types."""
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


password_costs = Table(
    "password_costs",
    metadata,
    Column("realm_id", Name, ForeignKey("realms.id", ondelete="CASCADE"), primary_key=True),
    Column("algorithm", Name, primary_key=True),
    Column("parameters", Name, primary_key=True, comment="JSON: those that cost time"),
    Column("iterations", Integer, primary_key=True, comment="rounded up to two digits"),
)
Row = dict[str, str | int]


async def note_costs(transaction: Transaction, realm_id: str, held: Iterable[Credential]) -> None:
    """Write the rows of passwords that are being stored, with the next statement."""
    made = {each.credential_data for each in held if each.type == PASSWORD}
    await transaction.insert_later(password_costs, _rows(realm_id, _costs(made)), missing=True)


async def list_costs(transaction: Transaction, realm_id: str) -> tuple[HashCost, ...]:
    """Return all costs in use."""
    of_realm = select(password_costs).where(password_costs.c.realm_id == realm_id)
    rows = (await transaction.execute(of_realm)).all()
    return tuple(
        HashCost((row.algorithm, tuple(map(tuple, json.loads(row.parameters)))), row.iterations)
        for row in rows
    )


async def recount_costs(transaction: Transaction, realm_id: str) -> None:
    """Replace the rows by the costs of the passwords that are stored now; reads all of them."""
    stored = select(credentials.c.credential_data).where(
        credentials.c.realm_id == realm_id, credentials.c.type == PASSWORD
    )
    found = (await transaction.execute(stored.distinct())).scalars().all()
    used = _costs(set(found))
    unused = set(await list_costs(transaction, realm_id)) - used
    if unused:
        some = or_(*(has(password_costs, **row) for row in _rows(realm_id, unused)))
        await transaction.delete_rows(password_costs, some)
    await transaction.insert_missing(password_costs, _rows(realm_id, used))


def _costs(made: Iterable[str]) -> set[HashCost]:
    return {cost for cost in map(hash_cost_of, made) if cost is not None}


def _rows(realm_id: str, costs: Iterable[HashCost]) -> list[Row]:
    return [
        {
            "realm_id": realm_id,
            "algorithm": cost.kind[0],
            "parameters": json.dumps(cost.kind[1]),
            "iterations": cost.iterations,
        }
        for cost in costs
    ]
