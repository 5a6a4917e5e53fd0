"""The sender of a realm's mails: a mail server without a valid one is refused.

Keycloak: the check of smtpServer when a realm is created or changed (26.7)
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import InvalidRequest

_ADDRESS: Final = re.compile(r"[!-?A-~]{1,64}@[^@\s]+")
"""Its part before the @ in visible ASCII."""
_LONGEST_SHOWN: Final = 100
_HINT: Final = (
    "If the address contains UTF-8 characters in the local part please ensure the SMTP server"
    " supports the SMTPUTF8 extension and enable 'Allow UTF-8' in the email realm configuration."
)


def require_sender(document: Mapping[str, Any]) -> None:
    """Raise InvalidRequest where a realm's document has a mail server without a valid sender."""
    server = document.get("smtpServer", document.get("smtp_server"))
    if not isinstance(server, Mapping) or not server:
        return
    _require_address(server.get("from"), "sender")
    if server.get("replyTo"):
        _require_address(server["replyTo"], "reply-to")


def _require_address(address: object, what: str) -> None:
    if _ADDRESS.fullmatch(str(address)) is None:
        shown = "null" if address is None else str(address)[:_LONGEST_SHOWN]
        raise InvalidRequest(f"Invalid {what} address '{shown}'. {_HINT}")
