"""Builds the administrative use cases of clients."""

from gateway.admin.clients import (
    ClientAccounts,
    ClientAdministration,
    ClientCertificates,
    ClientDevices,
    ClientInstallation,
    ClientListing,
    ClientNodes,
    ClientPolicies,
    ClientReach,
    ClientScopeAssignment,
    ClientSecrets,
    ClientUseCases,
    ProtocolMapperAdministration,
    ScopeMappingAdministration,
    SectorIdentifiers,
)
from gateway.bootstrap.services import Services
from gateway.crypto.keys import CryptographyClientKeys
from gateway.protocol.scopes import check_mapper


def client_use_cases(services: Services) -> ClientUseCases:
    """Return every use case of clients."""
    database, changes, clock = services.database, services.changes, services.clock
    sectors = SectorIdentifiers(services.documents, database)
    return ClientUseCases(
        listing=ClientListing(database),
        administration=ClientAdministration(
            changes, clock, services.online_sessions, check_mapper, services.keys, sectors
        ),
        secrets=ClientSecrets(database, changes, clock),
        accounts=ClientAccounts(database),
        nodes=ClientNodes(changes, clock),
        certificates=ClientCertificates(database, changes, CryptographyClientKeys(), clock),
        devices=ClientDevices(database, changes, services.device_locks, clock),
        installation=ClientInstallation(database),
        policies=ClientPolicies(database, changes),
        reach=ClientReach(database, changes),
        protocol_mappers=ProtocolMapperAdministration(database, changes, check_mapper, sectors),
        scope_assignment=ClientScopeAssignment(database, changes),
        scope_mappings=ScopeMappingAdministration(database, changes),
    )
