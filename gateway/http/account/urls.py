"""The URLs of the console that are no pages. Keycloak: 16.1, 17.7."""

from typing import Final
from urllib.parse import urlencode

from gateway.protocol.account_console import AccountPage

ACTION: Final = "action"
SIGN_OUT: Final = "sign-out"


def action_url(issuer: str, page: AccountPage, action: str, **parameters: str) -> str:
    """Return the link that begins a required action and leads back to the page."""
    query = urlencode({"kc_action": action, "page": page.value, **parameters})
    return f"{issuer}/account/{ACTION}?{query}"


def sign_out_url(issuer: str) -> str:
    """Return where the form "Sign out" is sent to."""
    return f"{issuer}/account/{SIGN_OUT}"
