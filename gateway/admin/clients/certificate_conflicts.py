"""Clients of administrators that one certificate can belong to.

Devices that send no client_id are refused where several such clients own their certificate:
administrators may give one name to two clients, as in Keycloak.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from gateway.domain.clients import Client, share_certificates
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm

_MOST_CLIENTS: Final = 5_000
"""Clients of a realm that are examined."""
_MOST_PAIRS: Final = 200_000
"""Pairs of clients that are compared, which takes a second: equal names first."""


@dataclass(frozen=True, slots=True)
class CertificateConflict:
    """Two clients of a realm whose names of certificates overlap; the texts are public names."""

    realm: str
    first: str
    second: str


async def list_certificate_conflicts(
    stores: Stores, realm: Realm, most: int
) -> tuple[CertificateConflict, ...]:
    """Return at most `most` pairs of clients that administrators gave overlapping names.

    Clients that registered themselves do not count: a name of an administrator wins over theirs.
    Raises StoreUnavailable.
    """
    rows = await stores.clients.certificate_terms(realm.id, _MOST_CLIENTS)
    names = sorted({name for _, name in rows})
    registered = await stores.clients.with_registration_token(realm.id, names)
    given = [name for name in names if name not in registered]
    clients = {client.client_id: client for client in await stores.clients.named(realm.id, given)}
    by_term: defaultdict[str, list[Client]] = defaultdict(list)
    for term, name in rows:
        if name in clients:
            by_term[term].append(clients[name])
    pairs = islice(_pairs(list(by_term.values()), list(clients.values())), _MOST_PAIRS)
    found = (
        CertificateConflict(realm.name, *sorted((first.client_id, second.client_id)))
        for first, second in pairs
        if share_certificates(first, second)
    )
    return tuple(dict.fromkeys(islice(found, most)))


def _pairs(
    with_same_term: Sequence[Sequence[Client]], clients: Sequence[Client]
) -> Iterator[tuple[Client, Client]]:
    """Yield pairs with a term in common, then each template beside every other client."""
    for group in with_same_term:
        yield from combinations(group, 2)
    for client in clients:
        if client.devices.template is not None:
            yield from ((client, other) for other in clients if other.devices.template is None)
            yield from ((client, other) for other in clients if _is_later_template(client, other))


def _is_later_template(client: Client, other: Client) -> bool:
    return other.devices.template is not None and client.client_id < other.client_id
