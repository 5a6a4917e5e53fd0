"""`smtpServer`: a map of strings with secrets that are never shown.

A secret is answered as `**********`. That text sent back keeps the old secret if the server is the
same: the secret of one host must not be sent to another.
Keycloak: smtpServer, which keeps it always
"""

import re
from typing import Any

from gateway.domain.errors import FieldError
from gateway.domain.realm import Smtp
from gateway.domain.secrets import Secret
from gateway.representations.json_input import is_plain_text
from gateway.representations.masking import MASK
from gateway.representations.refusals import attempt, join, raise_all, refused, refused_secret
from gateway.representations.shapes import TextMap

_PASSWORD = "password"  # noqa: S105 - the name of the field
_TOKEN_SECRET = "authTokenClientSecret"  # noqa: S105 - the same
SECRETS = (_PASSWORD, _TOKEN_SECRET)
_FLAGS = ("ssl", "starttls", "auth")
_HEADER_PARTS = ("from", "fromDisplayName", "replyTo", "replyToDisplayName", "envelopeFrom", "host")
_LONGEST = 2000


class SmtpMap:
    """The shape of the field."""

    def read(self, value: Any, path: str) -> Smtp:
        """Return the server; a masked secret comes back as the secret `MASK`."""
        if not isinstance(value, dict):
            # It may be the password, put one level too high.
            raise refused_secret(path, "an object of texts")
        visible = {name: text for name, text in value.items() if name not in SECRETS}
        settings = TextMap(longest=_LONGEST).read(visible, path)
        errors: list[FieldError] = []
        for name, text in settings.items():
            attempt(errors, None, _check, name, text, join(path, name))
        password, token_secret = (
            attempt(errors, None, _read_secret, value.get(name), join(path, name))
            for name in SECRETS
        )
        raise_all(errors)
        return Smtp(settings, password, token_secret)

    def write(self, value: Smtp) -> dict[str, str]:
        return {**value.settings, **dict.fromkeys(_secrets(value), MASK)}


def render_unmasked(value: Smtp) -> dict[str, str]:
    """Return the map with the secrets in clear, for an export that asks for them."""
    clear = {name: secret.reveal() for name, secret in _secrets(value).items()}
    return {**value.settings, **clear}


def keep_secrets(given: Smtp, before: Smtp) -> Smtp:
    """Return `given`, with a secret of `before` where the mask stands for it.

    A secret that would go to another server is removed instead.
    """
    password = before.password if given.host == before.host else None
    token_secret = before.token_secret if given.token_url == before.token_url else None
    return given.with_secrets(
        password if _is_masked(given.password) else given.password,
        token_secret if _is_masked(given.token_secret) else given.token_secret,
    )


def _secrets(value: Smtp) -> dict[str, Secret]:
    named = {_PASSWORD: value.password, _TOKEN_SECRET: value.token_secret}
    return {name: secret for name, secret in named.items() if secret}


def _is_masked(secret: Secret | None) -> bool:
    return secret is not None and secret.matches(MASK)


def _check(name: str, text: str, path: str) -> None:
    if name == "port" and text and not _is_port(text):
        raise refused(path, text, "a port from 1 to 65535")
    if name in _FLAGS and text not in {"", "true", "false"}:
        raise refused(path, text, "true or false")
    if name in _HEADER_PARTS and not text.isprintable():
        raise refused(path, text, "text without line breaks or control characters")


def _is_port(text: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", text) is not None and 0 < int(text) < 2**16


def _read_secret(text: Any, path: str) -> Secret | None:
    if text is None or text == "":
        return None
    if not isinstance(text, str) or len(text) > _LONGEST or not is_plain_text(text):
        raise refused_secret(path, f"text of at most {_LONGEST} characters")
    return Secret(text)
