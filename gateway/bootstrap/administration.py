"""Builds every administrative use case of a worker, each once."""

from gateway.admin.access import Administrators, Changes, RealmCaches
from gateway.admin.client_scopes import ClientScopeAdministration, ScopeEvaluation
from gateway.admin.registration import RegistrationTokens
from gateway.bootstrap.clients import client_use_cases
from gateway.bootstrap.components import components
from gateway.bootstrap.events import event_use_cases
from gateway.bootstrap.flows import flow_use_cases
from gateway.bootstrap.groups import group_use_cases
from gateway.bootstrap.keys import key_metadata
from gateway.bootstrap.realm_files import realm_file_use_cases
from gateway.bootstrap.realms import realm_use_cases
from gateway.bootstrap.registration import registration_use_cases
from gateway.bootstrap.roles import role_use_cases
from gateway.bootstrap.services import Services
from gateway.bootstrap.sessions import session_use_cases
from gateway.bootstrap.users import user_use_cases
from gateway.http.admin.routes import AdminUseCases
from gateway.protocol.token_preview import ClaimsPreview


def admin_use_cases(
    services: Services, changes: Changes, tokens: RegistrationTokens
) -> AdminUseCases:
    """Return the use cases behind the admin API."""
    database = services.database
    clients = client_use_cases(services, changes)
    return AdminUseCases(
        administrators=Administrators(database),
        caches=RealmCaches(changes),
        changes=changes,
        clients=clients,
        client_scopes=ClientScopeAdministration(database, changes),
        components=components(services, changes),
        events=event_use_cases(services, changes),
        flows=flow_use_cases(services, changes),
        groups=group_use_cases(services, changes),
        keys=key_metadata(services),
        realm_files=realm_file_use_cases(services, changes, clients.administration),
        realms=realm_use_cases(services, changes),
        registration=registration_use_cases(services, changes, tokens),
        roles=role_use_cases(services, changes),
        scope_evaluation=ScopeEvaluation(database, services.directory, ClaimsPreview()),
        sessions=session_use_cases(services, changes),
        users=user_use_cases(services, changes),
    )
