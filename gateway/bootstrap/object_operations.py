"""Builds the use cases behind the objects of a realm, and their rows in the table of the admin API.

Commands offer these rows as well: nothing here needs pages or a running gateway. A capability is
made, and its modules are loaded, with its first use: a command needs one or two of them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from gateway.bootstrap.services import Services

if TYPE_CHECKING:
    from gateway.admin.clients import ClientUseCases
    from gateway.admin.components import Components
    from gateway.admin.flows import FlowUseCases
    from gateway.admin.realm_files import RealmFileUseCases
    from gateway.admin.registration import RegistrationTokens
    from gateway.http.admin.operations import Operation


@dataclass(frozen=True, slots=True)
class ObjectServices:
    """What the rows are built with; `issuer` returns that of a realm by its name."""

    services: Services
    tokens: "Callable[[], RegistrationTokens]"
    """Made with the first row that issues one."""
    clients: "ClientUseCases"
    issuer: Callable[[str], str]


def components(services: Services) -> "Components":
    """Return what lists and changes components of every kind."""
    from gateway.admin.components import Components
    from gateway.admin.keys import KeyComponents
    from gateway.admin.registration import RegistrationPolicies
    from gateway.admin.users import ProfileComponents

    changes = services.changes
    keys = KeyComponents(changes, services.keys)
    kinds = (keys, ProfileComponents(changes), RegistrationPolicies(changes))
    return Components(services.database, kinds)


def _flow_use_cases(services: Services) -> "FlowUseCases":
    from gateway.admin.flows import (
        FlowAdministration,
        FlowUseCases,
        RequiredActionAdministration,
    )

    changes = services.changes
    return FlowUseCases(
        administration=FlowAdministration(changes),
        required_actions=RequiredActionAdministration(changes),
    )


def _realm_files(made: ObjectServices) -> "RealmFileUseCases":
    from gateway.admin.realm_files import PartialExport, PartialImport, RealmFileUseCases
    from gateway.bootstrap.accounts import new_passwords
    from gateway.bootstrap.administration import realm_creation

    services = made.services
    return RealmFileUseCases(
        creation=realm_creation(services),
        partial_export=PartialExport(services.database),
        partial_import=PartialImport(
            database=services.database,
            changes=services.changes,
            clients=made.clients.administration,
            passwords=services.passwords,
            gate=new_passwords(services),
            online_sessions=services.online_sessions,
        ),
    )


def _realms(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.bootstrap.administration import realm_use_cases
    from gateway.http.admin.realms import realm_operations

    actions = _flow_use_cases(made.services).required_actions
    return realm_operations(realm_use_cases(made.services), _realm_files(made), actions)


def _sessions(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.bootstrap.accounts import session_administration
    from gateway.http.admin.realms import session_operations

    return session_operations(session_administration(made.services))


def _users(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.admin.users import UserActionMails
    from gateway.bootstrap.accounts import session_administration, user_use_cases
    from gateway.http.admin.users import user_operations

    services = made.services
    mails = UserActionMails(services.changes, services.directory, made.issuer)
    return user_operations(user_use_cases(services), session_administration(services), mails)


def _groups(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.bootstrap.accounts import group_administration
    from gateway.http.admin.groups import group_operations

    return group_operations(group_administration(made.services))


def _roles(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.bootstrap.accounts import role_administration
    from gateway.http.admin.roles import role_operations

    return role_operations(role_administration(made.services))


def _clients(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.bootstrap.accounts import session_administration
    from gateway.http.admin.clients import client_operations

    return client_operations(made.clients, session_administration(made.services))


def _client_scopes(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.admin.client_scopes import ClientScopeAdministration
    from gateway.http.admin.client_scopes import client_scope_operations

    return client_scope_operations(ClientScopeAdministration(made.services.changes), made.clients)


def _evaluation(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.admin.client_scope_evaluation import ScopeEvaluation
    from gateway.http.admin.client_scopes import evaluation_operations
    from gateway.protocol.token_preview import ClaimsPreview

    services = made.services
    evaluation = ScopeEvaluation(services.database, services.directory, ClaimsPreview())
    return evaluation_operations(evaluation, made.issuer, services.clock)


def _registration(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.admin.registration import (
        PolicyProviders,
        RegistrationTokenAdministration,
        RegistrationUseCases,
    )
    from gateway.http.admin.clients import registration_operations
    from gateway.protocol.claims import MAPPER_TYPES

    services = made.services
    use_cases = RegistrationUseCases(
        tokens=RegistrationTokenAdministration(services.changes, made.tokens()),
        policy_providers=PolicyProviders(services.database, MAPPER_TYPES),
    )
    return registration_operations(use_cases)


def _components(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.admin.keys import KeyComponents
    from gateway.http.admin.realms import component_operations

    services = made.services
    keys = KeyComponents(services.changes, services.keys)
    return component_operations(components(services), keys)


def _flows(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.http.admin.flows import flow_operations

    return flow_operations(_flow_use_cases(made.services))


def _resources(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.admin.resource_kinds import resource_kinds
    from gateway.bootstrap.services import resource_administration
    from gateway.crypto.x509.reader import X509AuthorityParser
    from gateway.http.admin.resources import resource_operations

    return chain.from_iterable(
        resource_operations(resource_administration(made.services, kind))
        for kind in resource_kinds(X509AuthorityParser())
    )


def _events(made: ObjectServices) -> "Iterable[Operation]":
    from gateway.bootstrap.accounts import event_administration
    from gateway.http.admin.events import event_operations

    return event_operations(event_administration(made.services))


def _unsupported(_: ObjectServices) -> "Iterable[Operation]":
    from gateway.http.admin.unsupported_endpoints import unsupported_operations

    return unsupported_operations()


_Build = Callable[[ObjectServices], "Iterable[Operation]"]
_CAPABILITIES: Final[tuple[_Build, ...]] = (
    *(_realms, _sessions, _users, _groups, _roles, _clients, _client_scopes, _evaluation),
    *(_registration, _components, _flows, _resources, _events),
)
_BY_SEGMENT: Final[Mapping[str, tuple[_Build, ...]]] = {
    "client-description-converter": (_registration,),
    "client-policies": (_clients,),
    "client-registration-policy": (_registration,),
    "client-scopes": (_client_scopes,),
    "clients": (_clients, _client_scopes, _roles, _evaluation, _registration),
    "clients-initial-access": (_registration,),
    "components": (_components,),
    "authentication": (_flows,),
    "attack-detection": (_users,),
    "client-session-stats": (_sessions,),
    "default-default-client-scopes": (_client_scopes,),
    "default-optional-client-scopes": (_client_scopes,),
    "default-groups": (_groups,),
    "events": (_events,),
    "groups": (_groups, _roles),
    "identity-provider": (_realms, _unsupported),
    "roles": (_roles,),
    "roles-by-id": (_roles,),
    "users": (_users, _roles),
}
"""The capabilities with URLs that begin with a segment; those of others are of realms."""


def object_operations(made: ObjectServices) -> "tuple[Operation, ...]":
    """Return the operations on the objects of a realm."""
    return tuple(chain.from_iterable(build(made) for build in _CAPABILITIES))


class OperatorOperations:
    """The operations that commands offer, those that are not supported included."""

    def __init__(self, services: Services, public_url: str) -> None:
        from gateway.bootstrap.administration import client_use_cases

        def issuer(realm_name: str) -> str:
            from gateway.http.realm_endpoint import realm_url

            return realm_url(public_url, realm_name)

        def tokens() -> "RegistrationTokens":
            from gateway.admin.registration import RegistrationTokens

            return RegistrationTokens(services.directory, issuer)

        self._made = ObjectServices(services, tokens, client_use_cases(services), issuer)
        self._rows: dict[_Build, dict[tuple[str, str], Operation]] = {}

    def get_operation(self, method: str, url: str) -> "Operation":
        """Return the operation at a URL below the realm; raises KeyError."""
        path = f"/admin/realms/{{realm}}/{url}"
        for build in _BY_SEGMENT.get(url.partition("/")[0], (_realms,)):
            if build not in self._rows:
                self._rows[build] = {(row.method, row.path): row for row in build(self._made)}
            row = self._rows[build].get((method, path))
            if row is not None:
                return row
        raise KeyError(f"{method} {url}")
