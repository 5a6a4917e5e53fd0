"""Keycloak's flags for the certificate lookups, made from their table.

Both spellings are accepted: `--spi-x509cert-lookup-nginx-ssl-client-cert`, and with double dashes
`--spi-x509cert-lookup--nginx--ssl-client-cert`. Keycloak: 11.1
"""

from collections.abc import Iterator, Mapping
from typing import Final

from gateway.http.edge.certificate_lookup import LOOKUPS


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
