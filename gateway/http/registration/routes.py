"""The URLs where clients register themselves."""

from dataclasses import dataclass

from starlette.routing import BaseRoute, Route

from gateway.admin.access import AdminAccess, Changes
from gateway.admin.clients import ClientAdministration
from gateway.admin.registration import RegistrationTokens
from gateway.domain.ports.invalidation import Invalidation
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.http.realm_endpoint import RealmContext
from gateway.http.registration.endpoint import ROUTE, RegistrationEndpoint
from gateway.http.registration.providers import build_providers
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.client_registrations.callers import Registrars
from gateway.protocol.client_registrations.installing import ClientInstallations
from gateway.protocol.client_registrations.registering import ClientRegistrations
from gateway.protocol.scopes import check_mapper
from gateway.protocol.tokens import AccessTokens


@dataclass(frozen=True, slots=True)
class RegistrationParts:
    """What the endpoint is made of."""

    context: RealmContext
    access_tokens: AccessTokens
    database: Database
    invalidation: Invalidation
    online_sessions: OnlineSessionStore
    keys: KeyFactory


def build_registration_routes(parts: RegistrationParts) -> list[BaseRoute]:
    """Return every URL."""
    context, database = parts.context, parts.database
    changes = Changes(database, context.clock, parts.invalidation)
    tokens = RegistrationTokens(context.directory, context.issuer)
    registrations = ClientRegistrations(
        database=database,
        changes=changes,
        administration=ClientAdministration(
            changes, context.clock, parts.online_sessions, check_mapper, parts.keys
        ),
        registrars=Registrars(tokens, parts.access_tokens, AdminAccess(database)),
        tokens=tokens,
    )
    installations = ClientInstallations(
        registrations, context.directory, ClientAuthenticator(context.directory, database)
    )
    providers = build_providers(registrations, installations, context.public_url)
    return [Route(ROUTE, RegistrationEndpoint(providers, context))]
