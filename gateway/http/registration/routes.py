"""The URLs where clients register themselves."""

from starlette.routing import Route

from gateway.http.realm_endpoint import RealmContext
from gateway.http.registration.endpoint import ROUTE, RegistrationEndpoint
from gateway.http.registration.providers import build_providers
from gateway.protocol.client_registrations.installing import ClientInstallations
from gateway.protocol.client_registrations.registering import ClientRegistrations


def build_registration_route(
    registrations: ClientRegistrations, installations: ClientInstallations, context: RealmContext
) -> Route:
    """Return every URL as one route."""
    providers = build_providers(registrations, installations, context.public_url)
    return Route(ROUTE, RegistrationEndpoint(providers, context))
