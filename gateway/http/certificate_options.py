"""Keycloak's flags for the certificate lookups, and the names that their headers may have.

Both spellings are accepted: `--spi-x509cert-lookup-nginx-ssl-client-cert`, and with double dashes
`--spi-x509cert-lookup--nginx--ssl-client-cert`.

Keycloak: 11.1 certificate lookup
"""

import re
from dataclasses import dataclass
from typing import Final

from gateway.http.certificate_lookup import LOOKUPS, NginxLookup

_VERDICT_HEADER: Final = NginxLookup.default_verdict_header
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_HYPHENS: Final = 4
"""The proxy drops each spelling with `_` instead of `-`: two for one hyphen, sixteen for four."""
_RESERVED: Final = frozenset(
    {
        *("accept", "authorization", "connection", "content-length", "content-type", "cookie"),
        *("expect", "forwarded", "host", "if-match", "if-none-match", "te", "traceparent"),
        *("trailer", "transfer-encoding", "upgrade", "x-forwarded-for", "x-forwarded-host"),
        *("x-forwarded-port", "x-forwarded-proto", "x-realmgate-proxy-secret", "x-request-id"),
    }
)


@dataclass(frozen=True, slots=True)
class LookupFlag:
    """A flag: its spellings, the setting `field`, and the lookup, or None for all."""

    spellings: tuple[str, ...]
    field: str
    lookup: str | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """Return Keycloak's environment variables for the spellings."""
        return tuple(map(environment_variable, self.spellings))


def _spelled(*words: str) -> tuple[str, ...]:
    return tuple(f"--spi-x509cert-lookup{dash}{dash.join(words)}" for dash in ("-", "--"))


FLAGS: Final = (
    LookupFlag(_spelled("provider"), "certificate_lookup"),
    *(
        LookupFlag(_spelled(lookup.name, option), field, lookup.name)
        for lookup in LOOKUPS.values()
        for option, field in lookup.options.items()
    ),
)
"""Every flag of the lookups; each lookup has flags of its own for the same settings."""


def environment_variable(flag: str) -> str:
    """Return Keycloak's environment variable for a flag."""
    return "KC_" + flag.removeprefix("--").replace("-", "_").upper()


def verdict_header_name(value: object) -> str:
    """Return the name of a header of the verdict; raises ValueError with what is allowed."""
    name = str(value).lower()
    return name if name == _VERDICT_HEADER else certificate_header_name(value)


def certificate_header_name(value: object) -> str:
    """Return the name in lower case; raises ValueError with what is allowed."""
    name = str(value).lower()
    if not _NAME.fullmatch(name) or name.count("-") > _MOST_HYPHENS:
        raise ValueError(
            f"the name of a header: letters, digits and at most {_MOST_HYPHENS} single hyphens"
        )
    if name in _RESERVED or name == _VERDICT_HEADER:
        raise ValueError("the name of a header that has no other meaning")
    return name
