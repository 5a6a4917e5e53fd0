"""Keycloak's flags for the certificate lookups, and the name of the certificate header.

Both spellings are accepted: `--spi-x509cert-lookup-nginx-ssl-client-cert`, and with double dashes
`--spi-x509cert-lookup--nginx--ssl-client-cert`. Keycloak: 11.1
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from gateway.http.edge.certificate_lookup import LOOKUPS

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_HYPHENS: Final = 4
"""The proxy drops each spelling with `_` instead of `-`: two for one hyphen, sixteen for four."""
_RESERVED: Final = frozenset(
    {
        "accept",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "if-match",
        "if-none-match",
        "te",
        "traceparent",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-port",
        "x-forwarded-proto",
        "x-realmgate-proxy-secret",
        "x-request-id",
    }
).union(*({name.decode() for name in lookup.verdict_headers} for lookup in LOOKUPS.values()))


def _flags() -> Iterator[tuple[str, str]]:
    for dash in ("-", "--"):
        prefix = f"--spi-x509cert-lookup{dash}"
        yield f"{prefix}provider", "certificate_lookup"
        for lookup in LOOKUPS.values():
            for option, field in lookup.options.items():
                yield f"{prefix}{lookup.name}{dash}{option}", field


FIELDS: Final[Mapping[str, str]] = dict(_flags())
"""Flag -> the field of the settings that it sets."""


def flags_of(field: str) -> tuple[str, ...]:
    """Return every flag that sets a field, the preferred one first."""
    return tuple(flag for flag, target in FIELDS.items() if target == field)


def environment_variable(flag: str) -> str:
    """Return Keycloak's environment variable for a flag."""
    return "KC_" + flag.removeprefix("--").replace("-", "_").upper()


def certificate_header_name(value: object) -> str:
    """Return the name in lower case; raises ValueError with what is allowed."""
    name = str(value).lower()
    if not _NAME.fullmatch(name) or name.count("-") > _MOST_HYPHENS:
        raise ValueError(
            f"the name of a header: letters, digits and at most {_MOST_HYPHENS} single hyphens"
        )
    if name in _RESERVED:
        raise ValueError("the name of a header that has no other meaning")
    return name
