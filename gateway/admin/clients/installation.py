"""Files by which adapters are told of a client. Keycloak: installation/providers/{id}."""

from typing import Final

from gateway.admin.access import Acting, Missing
from gateway.admin.clients.access import clients_out_of_reach, find_client, has_roles
from gateway.domain.ports.storage import Database
from gateway.representations.clients import INSTALLATIONS, Installation, InstallationKind

_KINDS: Final = {kind.id: kind for kind in INSTALLATIONS}


class ClientInstallation:
    """Writes the files."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, acting: Acting, client_id: str, kind: str, url: str) -> str:
        """Return a file; raises Missing and StoreUnavailable.

        A secret that the caller may not know is masked in it.
        """
        async with self._database.read() as stores:
            client = await find_client(stores, acting.realm.id, client_id)
            found = _kind(kind)
            masked = bool(await clients_out_of_reach(acting, stores, [client]))
            roles = await has_roles(stores, client)
        return found.write(Installation(acting.realm, client, url, has_roles=roles, masked=masked))


def _kind(kind: str) -> InstallationKind:
    found = _KINDS.get(kind)
    if found is None:
        raise Missing("Unknown Provider")
    return found
