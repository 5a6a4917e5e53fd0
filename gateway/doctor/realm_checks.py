"""Checks of the realms in the database, without a running gateway."""

import asyncio
from typing import TYPE_CHECKING, Final

from gateway.doctor.findings import Finding, NotChecked, ProblemFound, WarningFound
from gateway.domain.errors import RealmgateError, StoreUnavailable

if TYPE_CHECKING:
    from gateway.admin.clients import CertificateConflict
    from gateway.settings import Settings

_MOST_NAMES: Final = 5
_MOST_PAIRS: Final = 20
"""Pairs of clients that a check names."""


def has_database(settings: "Settings") -> bool:
    """Return whether there is a database; a server's is taken to be there."""
    default = settings.state_dir / "realmgate.db"
    return str(default) not in settings.database_url.reveal() or default.exists()


def authority_names(settings: "Settings") -> str:
    """Find names that several authorities of a realm have: x509.casubjectdn cannot use them."""
    from gateway.bootstrap.client_certificates import read_client_certificates
    from gateway.bootstrap.services import encryption_keys_exist, open_services

    if not has_database(settings) or not encryption_keys_exist(settings):
        return "There is no realm yet."

    async def ask() -> list[str]:
        found = []
        async with open_services(settings) as services:
            async with services.database.read() as stores:
                realms = await stores.realms.list_realms()
            selection = read_client_certificates(settings).selection(services.authorities)
            for realm in realms:
                selected = await selection.select(realm, None)
                names = (f'"{name.rfc4514()}"' for name in selected.authorities.shared_names())
                found += [f"{name} of the realm {realm.name}" for name in names]
        return found

    try:
        shared = asyncio.run(ask())
    except StoreUnavailable:
        return "The authorities of realms are not examined, as the database does not answer."
    if shared:
        raise ProblemFound(
            f"Several authorities have the name {', '.join(shared[:_MOST_NAMES])}: clients with"
            " that x509.casubjectdn are refused. Give each of them its own anchor: realmgate certs"
            " authority add FILE --realm REALM --client CLIENT_ID."
        )
    return "In each realm the name of an authority means one authority."


def certificate_names(settings: "Settings") -> str:
    """Raise WarningFound for clients to which administrators gave one name of certificates."""
    from gateway.admin.clients import list_certificate_conflicts
    from gateway.bootstrap.services import encryption_keys_exist, open_services

    if not has_database(settings) or not encryption_keys_exist(settings):
        return "There is no realm yet."

    async def ask() -> "list[CertificateConflict]":
        found: list[CertificateConflict] = []
        async with open_services(settings) as services, services.database.read() as stores:
            for realm in await stores.realms.list_realms():
                found += await list_certificate_conflicts(stores, realm, _MOST_PAIRS)
        return found

    try:
        shared = asyncio.run(ask())
    except RealmgateError as failure:  # which another check reports
        raise NotChecked("the clients of realms cannot be read") from failure
    if shared:
        raise WarningFound(tuple(map(_of_shared_name, shared[:_MOST_PAIRS])))
    return "A certificate belongs to one client of a realm at most."


def _of_shared_name(pair: "CertificateConflict") -> Finding:
    return Finding(
        f"A certificate can belong to the clients {pair.first} and {pair.second} of the realm"
        f" {pair.realm}: devices that send no client_id are refused.",
        "another name or template for one of them, or a client_id in every request of the devices",
    )
