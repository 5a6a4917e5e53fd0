"""Headers for browsers. Keycloak: browserSecurityHeaders, a free string map."""

from dataclasses import dataclass, replace
from typing import Self

_CREATION_DEFAULTS = (
    ("contentSecurityPolicyReportOnly", ""),
    ("xContentTypeOptions", "nosniff"),
    ("referrerPolicy", "no-referrer"),
    ("xRobotsTag", "none"),
    ("xFrameOptions", "SAMEORIGIN"),
    ("contentSecurityPolicy", "frame-src 'self'; frame-ancestors 'self'; object-src 'none';"),
    ("strictTransportSecurity", "max-age=31536000; includeSubDomains"),
)


@dataclass(frozen=True, slots=True)
class SecurityHeaders:
    """Pairs of Keycloak's key and the value to send, in the given order.

    A value is sent exactly as given, also where a browser will not understand it; an empty one
    is not sent. Unknown keys are kept and sent nowhere.
    """

    values: tuple[tuple[str, str], ...] = _CREATION_DEFAULTS

    def value(self, key: str) -> str | None:
        """Return the value of `key`, None where the realm has none."""
        return next((value for name, value in self.values if name == key), None)

    def with_value(self, key: str, value: str) -> Self:
        """Return the headers with another value of `key`."""
        others = tuple(pair for pair in self.values if pair[0] != key)
        return replace(self, values=(*others, (key, value)))
