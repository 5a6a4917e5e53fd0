"""Which flow a realm uses for what, by alias. Keycloak: the realm's flow bindings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FlowBindings:
    """The flows in use."""

    browser: str = "browser"
    """`browserFlow`: signing in on a page."""
    registration: str = "registration"
    """`registrationFlow`: making oneself an account."""
    direct_grant: str = "direct grant"
    """`directGrantFlow`: signing in by password through a client."""
    reset_credentials: str = "reset credentials"
    """`resetCredentialsFlow`: who has forgotten the password."""
    client_authentication: str = "clients"
    """`clientAuthenticationFlow`: how clients prove themselves."""
    docker_authentication: str = "docker auth"
    """`dockerAuthenticationFlow`: signing in of Docker."""
    first_broker_login: str = "first broker login"
    """`firstBrokerLoginFlow`: the first sign-in by another provider."""
