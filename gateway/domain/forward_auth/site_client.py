"""Settings of a client by which no browser can sign in at a site.

The sign-in of a site uses the code flow with PKCE (S256), requires `iss` in the response, and signs
no request.
"""

from typing import Final

from gateway.domain.clients import Client

_METHODS: Final = frozenset({"", "S256"})


def unusable_setting(client: Client) -> str | None:
    """Return the setting of an OpenID Connect client that rules it out, None where there is none.

    The text is for logs and administrators.
    """
    authorization, objects = client.authorization, client.request_objects
    if not client.standard_flow_enabled:
        return "standardFlowEnabled is false, but sites use the standard flow"
    if authorization.code_challenge_method not in _METHODS:
        method = authorization.code_challenge_method
        return f"pkce.code.challenge.method is {method}, but sites use S256"
    if authorization.exclude_issuer:
        return "exclude.issuer.from.auth.response is true, but sites require iss"
    if objects.allowed_parameters:
        return f"request.object.required is {objects.required}, but sites sign no request"
    return None
