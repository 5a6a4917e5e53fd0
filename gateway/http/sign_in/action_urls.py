"""The URLs that the forms and links of a sign-in lead to. Keycloak: 12.12."""

import base64
import binascii
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from gateway.domain import base64url
from gateway.domain.authentication import AuthenticationSession
from gateway.domain.flows import FlowUse
from gateway.protocol.sign_in_results.sign_in_request import SignInRequest

ACTION_TOKEN: Final = "action-token"  # noqa: S105 - a part of a URL
AUTHENTICATE: Final = FlowUse.SIGN_IN.value
CONSENT: Final = "consent"
REQUIRED_ACTION: Final = "required-action"
REGISTRATION: Final = FlowUse.REGISTRATION.value
RESET_CREDENTIALS: Final = FlowUse.RESET_CREDENTIALS.value
RESTART: Final = "restart"
_LONGEST: Final = 8 * 1024


def action_url(
    issuer: str,
    action: str,
    asked: SignInRequest,
    session: AuthenticationSession,
    *,
    with_code: bool = True,
    with_execution: bool = True,
) -> str:
    """Return the URL of an action of a sign-in; a link that changes nothing is without its code.

    A link to another flow is without the execution, which belongs to this one.
    """
    pairs = {
        "session_code": session.session_code if with_code else None,
        "execution": session.waits_for if with_execution else None,
        "client_id": asked.client.client.client_id,
        "tab_id": session.tab_id,
        "client_data": write_client_data(asked),
    }
    sent = {name: text for name, text in pairs.items() if text is not None}
    return f"{issuer}/login-actions/{action}?{urlencode(sent)}"


_CLIENT_DATA: Final = {
    "ru": "redirect_uri",
    "rt": "response_type",
    "rm": "response_mode",
    "st": "state",
    "ap": "account_page",
}
"""Keycloak's names of what a form keeps of the request, and the names of parameters."""


def write_client_data(asked: SignInRequest) -> str:
    """Return where an answer goes to, for a form whose sign-in has ended. Keycloak: 12.12."""
    stored = asked.stored()
    known = {short: stored[name] for short, name in _CLIENT_DATA.items() if name in stored}
    return base64url.encode(orjson.dumps(known))


def read_client_data(text: str | None) -> dict[str, str]:
    """Return what `write_client_data` kept, by name of parameter; nothing where it is unreadable.

    It comes from the browser, so nothing in it is verified.
    """
    if not text or len(text) > _LONGEST:
        return {}
    try:
        found: Any = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        return {}
    return {_CLIENT_DATA[short]: one for short, one in found.items() if short in _CLIENT_DATA}
