"""Which costs the password hashes of a realm have: a row for each that is in use.

A refused sign-in takes the work of the dearest ones, for every name. A row is written with each
password; `recount_costs` removes those of passwords that are gone.
"""

import json
from collections.abc import Iterable

from sqlalchemy import Column, ForeignKey, Integer, Table, and_, delete, or_, select

from gateway.domain.limits.password_hashing import HashCost, hash_cost_of
from gateway.domain.users import Credential
from gateway.representations.users import PASSWORD
from gateway.storage.sql.column_types import Name
from gateway.storage.sql.schema import credentials, metadata
from gateway.storage.sql.transaction import Transaction

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
        columns = password_costs.c
        some = or_(
            *(and_(*(columns[n] == v for n, v in row.items())) for row in _rows(realm_id, unused))
        )
        await transaction.execute(delete(password_costs).where(some))
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
