"""Builds the administrative use cases of realms."""

from gateway.admin.realms import (
    Localizations,
    MailServerTest,
    RealmChanges,
    RealmDocuments,
    RealmListing,
    RealmUseCases,
)
from gateway.bootstrap.services import Services


def realm_use_cases(services: Services) -> RealmUseCases:
    """Return every use case of realms."""
    database = services.database
    return RealmUseCases(
        listing=RealmListing(database, RealmDocuments(database, services.invalidation)),
        changes=RealmChanges(
            database=database,
            changes=services.changes,
            keys=services.keys,
            clock=services.clock,
            online_sessions=services.online_sessions,
            login_failures=services.login_failures,
            listeners=services.listeners.names,
        ),
        localizations=Localizations(database, services.changes),
        mail_server_test=MailServerTest(database, services.mail, services.clock),
    )
