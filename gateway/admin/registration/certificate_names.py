"""A client that registers itself takes no certificate name that another client has.

Devices that send no client_id are found by their certificate alone. Where two clients own it, they
are refused: a stranger could lock devices out by registering their names. Administrators may give
one name to two clients, as in Keycloak, whose devices always send a client_id; the doctor warns of
them. A name that an administrator gives to a client wins over a registered one.
"""

from typing import Final

from gateway.admin.registration.formats import INVALID_METADATA
from gateway.admin.registration.registrars import RegistrationRefused
from gateway.domain.clients import (
    Client,
    certificate_terms,
    share_certificates,
    terms_of_rivals,
)
from gateway.domain.ports.storage import Stores

_MOST_RIVALS: Final = 200
"""Clients that one registration is compared with; where there are more, it is refused."""


async def require_free_certificate_name(
    stores: Stores, client: Client, before: Client | None = None
) -> None:
    """Raise RegistrationRefused where another client may own the same certificate.

    A name that the client has had `before` is not examined again.
    """
    if not certificate_terms(client) or (before is not None and _names(before) == _names(client)):
        return
    realm_id, most = client.realm_id, _MOST_RIVALS + 1
    terms = terms_of_rivals(client)
    if client.devices.template is None:
        found = await stores.clients.with_certificate_terms(realm_id, terms, most)
    else:
        rows = await stores.clients.certificate_terms(realm_id, most)
        found = tuple(sorted({name for _, name in rows}))
    if len(found) > _MOST_RIVALS:
        raise _refused("Too many clients of the realm are known by certificates")
    for other in await stores.clients.named(realm_id, found):
        if other.id != client.id and share_certificates(client, other):
            raise _refused("Another client of the realm has this name of certificates")


def _names(client: Client) -> tuple[object, ...]:
    return client.certificate_authentication, client.devices.template, certificate_terms(client)


def _refused(text: str) -> RegistrationRefused:
    return RegistrationRefused(INVALID_METADATA, text)
