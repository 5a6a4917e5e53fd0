"""Builds the administrative use cases of realm files."""

from gateway.admin.access import Changes
from gateway.admin.clients import ClientAdministration
from gateway.admin.realm_files import (
    PartialExport,
    PartialImport,
    RealmCreation,
    RealmFileUseCases,
)
from gateway.admin.users import NewPasswords
from gateway.bootstrap.services import Services


def realm_file_use_cases(
    services: Services,
    changes: Changes,
    new_passwords: NewPasswords,
    clients: ClientAdministration,
) -> RealmFileUseCases:
    """Return every use case of realm files."""
    return RealmFileUseCases(
        creation=RealmCreation(
            database=services.database,
            changes=changes,
            keys=services.keys,
            passwords=services.passwords,
            gate=new_passwords,
            clock=services.clock,
        ),
        partial_export=PartialExport(services.database),
        partial_import=PartialImport(
            changes=changes,
            clients=clients,
            passwords=services.passwords,
            gate=new_passwords,
            online_sessions=services.online_sessions,
        ),
    )
