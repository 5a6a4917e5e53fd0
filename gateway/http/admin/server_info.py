"""The rows of the server: /admin/serverinfo, from its registries, and whoami.

Only what exists here is listed. `helpText` says which key providers and policies have no effect,
and `operationalInfo` in `providers` which authenticators. Keycloak: 7.5 server
"""

import os
import platform
import resource
from collections.abc import Collection, Iterable
from typing import Any, Final

from gateway import __version__
from gateway.admin.access import AdminAccess, administers_the_server, require_administrator
from gateway.admin.client_scope_defaults import default_client_scopes
from gateway.admin.components import Components
from gateway.client_policies import CONDITIONS, EXECUTORS
from gateway.domain.clients import OPENID_CONNECT
from gateway.domain.clock import Clock
from gateway.domain.flows import REQUIRED_ACTIONS
from gateway.domain.keys import ALGORITHMS_OF_CLIENTS, KeyProvider
from gateway.domain.profile_validators import VALIDATORS
from gateway.http.admin.operations import Decided, Operation, Query, Resource
from gateway.http.admin.requests import AdminRequest, document, document_reply
from gateway.http.certificate_lookup import LOOKUPS
from gateway.http.replies import Reply
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.claims.mapper import ClaimMapper
from gateway.protocol.client_authentication import METHODS
from gateway.protocol.grants import GRANTS
from gateway.representations.client_scopes import (
    MAPPER_DESCRIPTIONS,
    render_built_in,
    render_mapper_type,
)
from gateway.representations.clients import INSTALLATIONS
from gateway.representations.components import ProviderDescription
from gateway.representations.flows import UNAVAILABLE, AuthenticatorRole, of_role
from gateway.representations.registration_policies import POLICY_PROVIDERS
from gateway.representations.server_info import (
    Machine,
    render_cryptography,
    render_enums,
    render_features,
    render_password_policies,
    render_providers,
    render_system,
    render_themes,
)

_AUTHENTICATION: Final = "org.keycloak.authentication"
_POLICY: Final = "org.keycloak.services.clientpolicy"


def component_types(components: Components) -> dict[str, list[dict[str, Any]]]:
    """Return the providers by Keycloak's name of their type."""
    clients = [each for each in _authenticators(AuthenticatorRole.CLIENT) if each.id in METHODS]
    return {
        **components.list_types(),
        f"{_AUTHENTICATION}.Authenticator": _rendered(_authenticators(AuthenticatorRole.USER)),
        f"{_AUTHENTICATION}.ClientAuthenticator": _rendered(clients),
        f"{_AUTHENTICATION}.FormAction": _rendered(_authenticators(AuthenticatorRole.FORM_ACTION)),
        f"{_AUTHENTICATION}.FormAuthenticator": _rendered(_authenticators(AuthenticatorRole.FORM)),
        f"{_POLICY}.condition.ClientPolicyConditionProvider": _rendered(_judging(CONDITIONS)),
        f"{_POLICY}.executor.ClientPolicyExecutorProvider": _rendered(_judging(EXECUTORS)),
        "org.keycloak.protocol.ProtocolMapper": _rendered(_mappers()),
        "org.keycloak.validate.Validator": _rendered(_validators()),
    }


def _rendered(providers: Iterable[ProviderDescription]) -> list[dict[str, Any]]:
    return [each.document() for each in sorted(providers, key=lambda each: each.id)]


def _authenticators(role: AuthenticatorRole) -> list[ProviderDescription]:
    return [
        ProviderDescription(each.id, each.help, tuple(each.properties)) for each in of_role(role)
    ]


def _mappers() -> list[ProviderDescription]:
    return [
        ProviderDescription(name, known.help, known.properties)
        for name, known in MAPPER_DESCRIPTIONS.items()
    ]


def _judging(names: Iterable[str]) -> list[ProviderDescription]:
    return [ProviderDescription(name, "Judges clients and their requests") for name in names]


def _validators() -> list[ProviderDescription]:
    return [
        ProviderDescription(name, "Checks the values of a user attribute") for name in VALIDATORS
    ]


_KIBIBYTE: Final = 1024


class ServerInformation:
    """Describes the server; `listeners` and `login_themes` are names."""

    def __init__(
        self,
        components: Components,
        clock: Clock,
        *,
        listeners: Collection[str],
        login_themes: Collection[str],
    ) -> None:
        self._components = components
        self._clock = clock
        self._listeners = listeners
        self._login_themes = login_themes
        self._started_at = clock.now()

    async def describe_server(self, request: AdminRequest) -> Reply:
        """Return the description; facts about the machine to administrators of the server only."""
        require_administrator(request.acting)
        machine = self._machine() if administers_the_server(request.acting) else None
        return document_reply(
            {
                **render_system(self._clock.now(), __version__, machine),
                **render_features(),
                **render_cryptography(),
                "themes": render_themes(self._login_themes),
                "socialProviders": [],
                "identityProviders": [],
                "providers": render_providers(self._providers(), _limitations()),
                "protocolMapperTypes": {OPENID_CONNECT: _mapper_types()},
                "builtinProtocolMappers": {OPENID_CONNECT: _built_in_mappers()},
                "clientInstallations": {OPENID_CONNECT: _installations()},
                "componentTypes": component_types(self._components),
                "passwordPolicies": render_password_policies(),
                "enums": render_enums(),
            }
        )

    def _providers(self) -> dict[str, Collection[str]]:
        return {
            "authenticator": [each.id for each in of_role(AuthenticatorRole.USER)],
            "client-authenticator": list(METHODS),
            "client-policy-condition": list(CONDITIONS),
            "client-policy-executor": list(EXECUTORS),
            "client-registration-policy": [each.id for each in POLICY_PROVIDERS],
            "eventsListener": sorted(self._listeners),
            "form-action": [each.id for each in of_role(AuthenticatorRole.FORM_ACTION)],
            "form-authenticator": [each.id for each in of_role(AuthenticatorRole.FORM)],
            "keys": list(KeyProvider),
            "login-protocol": [OPENID_CONNECT],
            "oauth2-grant-type": list(GRANTS),
            "protocol-mapper": list(CLAIM_MAPPERS),
            "required-action": sorted(REQUIRED_ACTIONS),
            "signature": list(ALGORITHMS_OF_CLIENTS),
            "x509cert-lookup": list(LOOKUPS),
        }

    def _machine(self) -> Machine:
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBIBYTE
        return Machine(
            started_at=self._started_at,
            system=platform.system(),
            architecture=platform.machine(),
            release=platform.release(),
            processors=os.cpu_count() or 1,
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            memory_used=used,
        )


def server_operations(information: ServerInformation, access: AdminAccess) -> tuple[Operation, ...]:
    """Return the rows about the server and the caller."""
    rows = Resource("/admin", "Server", Decided.BY_USE_CASE, Decided.BY_USE_CASE)
    return (
        rows.get(
            "/serverinfo",
            "Get the features and providers of the server",
            information.describe_server,
            returns="ServerInfoRepresentation",
        ),
        rows.get(
            "/{realm}/console/whoami",
            "Get the caller and its roles",
            lambda r: document(access.describe_caller(r.acting, r.query.get("currentRealm"))),
            returns="object",
            query=(Query("currentRealm"),),
        ),
    )


def _limitations() -> dict[str, str]:
    """Return why an authenticator of users cannot act, by its id."""
    return {each.id: UNAVAILABLE for each in of_role(AuthenticatorRole.USER) if not each.acts}


def _mapper_types() -> list[dict[str, Any]]:
    return [
        render_mapper_type(name, mapper.purposes if isinstance(mapper, ClaimMapper) else ())
        for name, mapper in sorted(CLAIM_MAPPERS.items())
    ]


def _built_in_mappers() -> list[dict[str, Any]]:
    scopes = default_client_scopes("")
    mappers = [mapper for scope in scopes for mapper in scope.mappers]
    return render_built_in(mapper for mapper in mappers if mapper.mapper_type in CLAIM_MAPPERS)


def _installations() -> list[dict[str, Any]]:
    return [
        {
            "id": each.id,
            "protocol": OPENID_CONNECT,
            "downloadOnly": False,
            "displayType": each.title,
            "helpText": each.help,
            "filename": each.filename,
            "mediaType": each.media_type,
        }
        for each in INSTALLATIONS
    ]
