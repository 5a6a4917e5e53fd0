"""Builds the administrative use cases of realm files."""

from gateway.admin.clients import ClientAdministration
from gateway.admin.realm_files import (
    ImportDryRun,
    PartialExport,
    PartialImport,
    RealmCreation,
    RealmFileUseCases,
    RealmImport,
    UserImport,
)
from gateway.bootstrap.accounts import new_passwords
from gateway.bootstrap.services import Services
from gateway.crypto.x509.reader import X509AuthorityParser


def realm_file_use_cases(services: Services, clients: ClientAdministration) -> RealmFileUseCases:
    """Return every use case of realm files in the admin API."""
    return RealmFileUseCases(
        creation=realm_creation(services),
        partial_export=PartialExport(services.database),
        partial_import=PartialImport(
            changes=services.changes,
            clients=clients,
            passwords=services.passwords,
            gate=new_passwords(services),
            online_sessions=services.online_sessions,
        ),
    )


def realm_creation(services: Services) -> RealmCreation:
    """Return what creates a realm from its document."""
    return RealmCreation(
        database=services.database,
        changes=services.changes,
        keys=services.keys,
        authorities=X509AuthorityParser(),
        passwords=services.passwords,
        gate=new_passwords(services),
        clock=services.clock,
    )


def realm_import(services: Services) -> RealmImport:
    """Return what imports realm files."""
    return RealmImport(
        database=services.database,
        keys=services.keys,
        authorities=X509AuthorityParser(),
        passwords=services.passwords,
        clock=services.clock,
        invalidation=services.invalidation,
        blacklists=services.blacklists,
    )


def import_dry_run(services: Services) -> ImportDryRun:
    """Return what compares realm files with what is stored."""
    return ImportDryRun(
        database=services.database,
        keys=services.keys,
        authorities=X509AuthorityParser(),
        clock=services.clock,
        blacklists=services.blacklists,
    )


def user_import(services: Services) -> UserImport:
    """Return what imports users from a file of any size."""
    return UserImport(
        database=services.database,
        passwords=services.passwords,
        clock=services.clock,
        blacklists=services.blacklists,
    )
