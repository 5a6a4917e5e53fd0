"""Certificate authorities that administrators register, for a realm or for one client of it.

A trust anchor is pinned by its name and key, so a certificate issued again for the same key stays
an anchor and another authority of the same name is none. Spec: RFC 5280 §6.1.1 (d)
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from textwrap import wrap
from typing import Final

MOST_AUTHORITIES: Final = 2_000
"""Of one realm, those of its clients included."""

_PEM_LINE: Final = 64


class AuthorityKind(StrEnum):
    """What an authority does in a certification path."""

    ANCHOR = "anchor"
    """A path may end there."""
    INTERMEDIATE = "intermediate"
    """It completes paths to an anchor and is not trusted by itself."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A registered authority. `sha256` is that of its certificate, in lower-case hexadecimal.

    `client` is the internal id of the client whose certificates it is for, None for all of the
    realm.
    """

    sha256: str
    kind: AuthorityKind
    der: bytes = field(repr=False)
    client: str | None = None


@dataclass(frozen=True, slots=True)
class AuthorityDescription:
    """What the certificate of an authority says. Hashes are in lower-case hexadecimal.

    `self_signed`: its own key signed it; `key_sha256` is that of the encoded public
    key (SubjectPublicKeyInfo).
    """

    sha256: str
    key_sha256: str
    subject: str
    issuer: str
    serial: str
    not_before: datetime
    not_after: datetime
    self_signed: bool
    der: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredAuthorities:
    """The authorities of one realm and of its clients; the same object until they change."""

    authorities: Sequence[Authority] = ()
    clients_with_anchors: frozenset[str] = frozenset()
    """Internal ids."""

    @classmethod
    def of(cls, authorities: Sequence[Authority]) -> "RegisteredAuthorities":
        return cls(
            authorities,
            frozenset(
                item.client
                for item in authorities
                if item.client is not None and item.kind is AuthorityKind.ANCHOR
            ),
        )


def certificate_pem(der: bytes) -> str:
    """Return a certificate in PEM. Spec: RFC 7468 §5."""
    text = "\n".join(wrap(b64encode(der).decode("ascii"), _PEM_LINE))
    return f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"
