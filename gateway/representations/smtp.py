"""`smtpServer`: a map of strings with a password that is never shown.

Keycloak: the password is answered as `**********`, and that text sent back keeps the old one.
"""

import re
from typing import Any

from gateway.domain.errors import FieldError
from gateway.domain.realm import Smtp
from gateway.domain.secrets import Secret
from gateway.representations.masking import MASK
from gateway.representations.plain_json import is_plain_text
from gateway.representations.refusals import attempt, join, raise_all, refused, refused_secret
from gateway.representations.shapes import TextMap

_PASSWORD = "password"  # noqa: S105 - the name of the field
_FLAGS = ("ssl", "starttls", "auth")
_HEADER_PARTS = ("from", "fromDisplayName", "replyTo", "replyToDisplayName", "envelopeFrom", "host")
_LONGEST = 2000


class SmtpMap:
    """The shape of the field."""

    def read(self, value: Any, path: str) -> Smtp:
        """Return the server; a masked password comes back as the secret `MASK`."""
        if not isinstance(value, dict):
            # It may be the password, put one level too high.
            raise refused_secret(path, "an object of texts")
        visible = dict(value)
        password = visible.pop(_PASSWORD, None)
        settings = TextMap(longest=_LONGEST).read(visible, path)
        errors: list[FieldError] = []
        for name, text in settings.items():
            attempt(errors, None, _check, name, text, join(path, name))
        attempt(errors, None, _check_password, password, join(path, _PASSWORD))
        raise_all(errors)
        return Smtp(settings, Secret(password) if password else None)

    def write(self, value: Smtp) -> dict[str, str]:
        """Return the map with the password masked."""
        masked = {_PASSWORD: MASK} if value.password else {}
        return {**value.settings, **masked}


def write_unmasked(value: Smtp) -> dict[str, str]:
    """Return the map with the password in clear, for an export that asks for it."""
    clear = {_PASSWORD: value.password.reveal()} if value.password else {}
    return {**value.settings, **clear}


def keep_password(given: Smtp, before: Smtp) -> Smtp:
    """Return `given`, its password that of `before` where the mask stands for it."""
    masked = given.password is not None and given.password.matches(MASK)
    return given.with_password(before.password) if masked else given


def _check(name: str, text: str, path: str) -> None:
    if name == "port" and text and not _is_port(text):
        raise refused(path, text, "a port from 1 to 65535")
    if name in _FLAGS and text not in {"", "true", "false"}:
        raise refused(path, text, "true or false")
    if name in _HEADER_PARTS and not text.isprintable():
        raise refused(path, text, "text without line breaks or control characters")


def _is_port(text: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", text) is not None and 0 < int(text) < 2**16


def _check_password(password: Any, path: str) -> None:
    fine = password is None or (
        isinstance(password, str) and len(password) <= _LONGEST and is_plain_text(password)
    )
    if not fine:
        raise refused_secret(path, f"text of at most {_LONGEST} characters")
