"""Builds the administrative use cases of realms, realm files, keys and clients.

Each is made, and its modules are loaded, with its first use: a command needs one of them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gateway.bootstrap.accounts import new_passwords
from gateway.bootstrap.on_demand import OnDemand
from gateway.bootstrap.services import Services

if TYPE_CHECKING:
    from gateway.admin.clients import (
        ClientAdministration,
        ClientCertificateAdministration,
        ClientUseCases,
        MapperOwnerKind,
        ProtocolMapperAdministration,
        SectorIdentifiers,
    )
    from gateway.admin.key_rotation import RealmKeys
    from gateway.admin.realm_files import (
        GatewayNames,
        ImportDryRun,
        RealmCreation,
        RealmImport,
        UserImport,
    )
    from gateway.admin.realms import RealmAdministration, RealmUseCases


def realm_keys(services: Services) -> "RealmKeys":
    """Return what rotates and disables keys."""
    from gateway.admin.key_rotation import RealmKeys

    return RealmKeys(services.changes, services.keys)


def realm_use_cases(services: Services) -> "RealmUseCases":
    """Return every use case of realms."""
    from gateway.admin.realms import Localizations, RealmListing, RealmViews

    database = services.database
    use_cases = OnDemand(
        listing=lambda: RealmListing(database, RealmViews(database, services.messages)),
        administration=lambda: _realm_administration(services),
        localizations=lambda: Localizations(services.changes),
    )
    return cast("RealmUseCases", use_cases)


def _realm_administration(services: Services) -> "RealmAdministration":
    from gateway.admin.realms import RealmAdministration

    return RealmAdministration(
        changes=services.changes,
        keys=services.keys,
        mail=services.mail,
        online_sessions=services.online_sessions,
        login_failures=services.login_failures,
        listeners=services.listeners.names,
    )


def realm_creation(services: Services) -> "RealmCreation":
    """Return what creates a realm from its document."""
    from gateway.admin.realm_files import RealmCreation
    from gateway.crypto.x509.reader import X509AuthorityParser

    return RealmCreation(
        database=services.database,
        changes=services.changes,
        keys=services.keys,
        authorities=X509AuthorityParser(),
        passwords=services.passwords,
        gate=new_passwords(services),
        clock=services.clock,
    )


def realm_import(services: Services, themes: Path | None = None) -> "RealmImport":
    """Return what imports realm files; `themes` is the folder of the operator's themes."""
    from gateway.admin.realm_files import RealmImport
    from gateway.crypto.x509.reader import X509AuthorityParser

    return RealmImport(
        database=services.database,
        keys=services.keys,
        authorities=X509AuthorityParser(),
        passwords=services.passwords,
        clock=services.clock,
        invalidation=services.invalidation,
        blacklists=services.blacklists,
        gateway=_gateway_names(themes),
    )


def _gateway_names(themes: Path | None) -> "GatewayNames":
    from gateway.admin.realm_files import GatewayNames
    from gateway.listeners import LISTENERS

    names = () if themes is None else (each.name for each in themes.iterdir() if each.is_dir())
    return GatewayNames(tuple(sorted(names)), tuple(LISTENERS))


def import_dry_run(services: Services, themes: Path | None = None) -> "ImportDryRun":
    """Return what compares realm files with what is stored; `themes` as for `realm_import`."""
    from gateway.admin.realm_files import ImportDryRun
    from gateway.crypto.x509.reader import X509AuthorityParser

    return ImportDryRun(
        database=services.database,
        keys=services.keys,
        authorities=X509AuthorityParser(),
        clock=services.clock,
        blacklists=services.blacklists,
        gateway=_gateway_names(themes),
    )


def user_import(services: Services) -> "UserImport":
    """Return what imports users from a file of any size."""
    from gateway.admin.realm_files import UserImport

    return UserImport(
        database=services.database,
        passwords=services.passwords,
        clock=services.clock,
        blacklists=services.blacklists,
    )


def client_use_cases(services: Services) -> "ClientUseCases":
    """Return every use case of clients."""
    from gateway.admin.clients import (
        ClientDevices,
        ClientListing,
        ClientNodes,
        ClientPolicies,
        ClientSecrets,
        ScopeAdministration,
    )

    changes = services.changes
    use_cases = OnDemand(
        listing=lambda: ClientListing(changes),
        administration=lambda: _client_administration(services),
        secrets=lambda: ClientSecrets(changes),
        nodes=lambda: ClientNodes(changes),
        certificates=lambda: _client_certificates(services),
        devices=lambda: ClientDevices(changes, services.device_locks),
        policies=lambda: ClientPolicies(changes),
        protocol_mappers=lambda: _protocol_mappers(services),
        scopes=lambda: ScopeAdministration(changes),
    )
    return cast("ClientUseCases", use_cases)


def _client_administration(services: Services) -> "ClientAdministration":
    from gateway.admin.clients import ClientAdministration
    from gateway.protocol.claims import check_mapper

    return ClientAdministration(
        services.changes,
        services.clock,
        services.online_sessions,
        check_mapper,
        services.keys,
        _sector_identifiers(services),
    )


def _client_certificates(services: Services) -> "ClientCertificateAdministration":
    from gateway.admin.clients import ClientCertificateAdministration
    from gateway.crypto.client_keys import CryptographyClientKeys

    return ClientCertificateAdministration(services.changes, CryptographyClientKeys())


def _protocol_mappers(
    services: Services,
) -> "Mapping[MapperOwnerKind, ProtocolMapperAdministration]":
    from gateway.admin.clients import MapperOwnerKind, ProtocolMapperAdministration
    from gateway.protocol.claims import check_mapper

    sectors = _sector_identifiers(services)
    return {
        kind: ProtocolMapperAdministration(kind, services.changes, check_mapper, sectors)
        for kind in MapperOwnerKind
    }


def _sector_identifiers(services: Services) -> "SectorIdentifiers":
    from gateway.admin.clients import SectorIdentifiers

    return SectorIdentifiers(services.documents, services.database)
