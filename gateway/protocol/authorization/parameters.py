"""The parameters of authorization requests: their names, and how long each may be.

Spec: RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 9101 §5, OpenID Connect Core §3.1.2.1; attacks C24
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.clients import LONGEST_REDIRECT_URI

_TEXT: Final = 4000
"""Keycloak's limit of a parameter."""
_HINT: Final = 1000
_WORD: Final = 255
_OBJECT: Final = 16 * 1024

DPOP_KEY: Final = "dpop_jkt"
"""Thumbprint of the key that the code has to be redeemed with. Spec: RFC 9449 §10"""

LONGEST: Final[Mapping[str, int]] = {
    "client_id": _WORD,
    "redirect_uri": LONGEST_REDIRECT_URI,
    "response_type": _WORD,
    "response_mode": _WORD,
    "scope": _TEXT,
    "state": _TEXT,
    "nonce": _TEXT,
    "prompt": _WORD,
    "max_age": _WORD,
    "login_hint": _HINT,
    "id_token_hint": _OBJECT,
    "acr_values": _HINT,
    "claims": _TEXT,
    "claims_locales": _WORD,
    "ui_locales": _WORD,
    "display": _WORD,
    "code_challenge": _WORD,
    "code_challenge_method": _WORD,
    DPOP_KEY: _WORD,
    "kc_action": _WORD,
    "kc_idp_hint": _WORD,
    "request": _OBJECT,
    "request_uri": _TEXT,
}
"""Parameter -> the most characters of its value; others are not read."""
PARAMETERS: Final = tuple(LONGEST)


def text_of(claim: Any) -> str | None:
    """Return a claim of a request object as the text of a parameter; None for null.

    Spec: OpenID Connect Core §6.1 (numbers and objects stand as JSON in it)
    """
    if claim is None or isinstance(claim, str):
        return claim
    return json.dumps(claim)
