"""`email`: an address that could exist. Keycloak: EmailValidator, EmailValidationUtil.

The part before the sign is of atoms with points between them, or of texts in quotes; the domain of
labels of at most 63 characters, or an address in brackets. `max-local-length` limits the first.
"""

import re
from collections.abc import Iterator
from typing import Final

from gateway.domain.user_profile.configuration import Configuration
from gateway.domain.user_profile.findings import Check, Finding, each

_LONGEST_LOCAL: Final = 64
_LONGEST_DOMAIN: Final = 255
_LONGEST_LABEL: Final = 63
_ATOM: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+")
_QUOTED: Final = re.compile(
    r'"(?:[A-Za-z0-9!#$%&\'*.(),<>\[\]:; @+/=?^_`{|}~\u0080-\U0010ffff-]|\\[\\"])+"'
)
_LABEL: Final = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff-]+")
_ADDRESS: Final = re.compile(r"\[(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|IPv6:[0-9A-Fa-f:.]{2,45})\]")


def email(configuration: Configuration) -> Check:
    """Require e-mail addresses."""
    longest = configuration.integer("max-local-length")
    longest_local = _LONGEST_LOCAL if longest is None else longest

    def check(text: str) -> Finding | None:
        local, _, domain = text.rpartition("@")
        fine = len(local) <= longest_local and _is_local(local) and _is_domain(domain)
        return None if fine else Finding("error-invalid-email", (text,))

    return each(check)


def _is_local(text: str) -> bool:
    return all(_ATOM.fullmatch(part) or _QUOTED.fullmatch(part) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """Yield what stands between points, those within quotes left alone."""
    if text.startswith('"'):
        yield text
        return
    yield from text.split(".")


def _is_domain(text: str) -> bool:
    if _ADDRESS.fullmatch(text):
        return True
    return len(text) <= _LONGEST_DOMAIN and all(_is_label(label) for label in text.split("."))


def _is_label(text: str) -> bool:
    fine = len(text) <= _LONGEST_LABEL and _LABEL.fullmatch(text) is not None
    return fine and not text.startswith("-") and not text.endswith("-")
