"""Builds every administrative use case of a worker, each once."""

from gateway.admin.access import Administrators, RealmCaches
from gateway.admin.client_scopes import ClientScopeAdministration, ScopeEvaluation
from gateway.admin.registration import RegistrationTokens
from gateway.bootstrap.accounts import (
    event_use_cases,
    group_use_cases,
    role_use_cases,
    session_use_cases,
    user_use_cases,
)
from gateway.bootstrap.clients import client_use_cases
from gateway.bootstrap.components import components, key_metadata
from gateway.bootstrap.flows import flow_use_cases
from gateway.bootstrap.realm_files import realm_file_use_cases
from gateway.bootstrap.realms import realm_use_cases
from gateway.bootstrap.registration import registration_use_cases
from gateway.bootstrap.services import Services
from gateway.http.admin.routes import AdminUseCases
from gateway.protocol.token_preview import ClaimsPreview


def admin_use_cases(services: Services, tokens: RegistrationTokens) -> AdminUseCases:
    """Return the use cases behind the admin API."""
    database, changes = services.database, services.changes
    clients = client_use_cases(services)
    return AdminUseCases(
        administrators=Administrators(database),
        caches=RealmCaches(changes),
        changes=changes,
        clients=clients,
        client_scopes=ClientScopeAdministration(database, changes),
        components=components(services),
        events=event_use_cases(services),
        flows=flow_use_cases(services),
        groups=group_use_cases(services),
        keys=key_metadata(services),
        realm_files=realm_file_use_cases(services, clients.administration),
        realms=realm_use_cases(services),
        registration=registration_use_cases(services, tokens),
        roles=role_use_cases(services),
        scope_evaluation=ScopeEvaluation(database, services.directory, ClaimsPreview()),
        sessions=session_use_cases(services),
        users=user_use_cases(services),
    )
