"""How people see a client: on pages of a sign-in, and in lists. Keycloak: ClientRepresentation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientDisplay:
    """Texts and addresses as they were set; pages link only to those that are safe."""

    name: str = ""
    """`name`; it may stand for a text of the pages, as `${client_account}`."""
    base_url: str = ""
    """`baseUrl`, where people open the application; relative to `rootUrl`."""
    root_url: str = ""
    """`rootUrl`"""
    logo_uri: str = ""
    """`logoUri`"""
    policy_uri: str = ""
    """`policyUri`"""
    terms_uri: str = ""
    """`tosUri`"""
    always_listed: bool = False
    """`alwaysDisplayInConsole`: the account console lists it for every user."""
    theme: str = ""
    """`login_theme`: replaces the realm's."""
