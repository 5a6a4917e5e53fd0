"""The URLs where clients register themselves."""

from starlette.routing import Route

from gateway.http.realm_endpoint import RealmContext
from gateway.http.registration.endpoint import ROUTE, RegistrationEndpoint
from gateway.http.registration.providers import build_providers
from gateway.protocol.registration import RegistrationRequests


def build_registration_route(registrations: RegistrationRequests, context: RealmContext) -> Route:
    """Return every URL as one route."""
    providers = build_providers(registrations, context.public_url)
    return Route(ROUTE, RegistrationEndpoint(providers, context))
