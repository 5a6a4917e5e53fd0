"""secure-client-uris-pattern: the addresses of clients match one of certain patterns.

A match has a bounded cost: a pattern that may take long is refused when the profile is written.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import AuthorizationRequested, ClientChange, ClientRequest
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import (
    INVALID_METADATA,
    INVALID_REQUEST,
    InvalidConfiguration,
    PolicyRefusal,
)
from gateway.domain.limits.patterns import Verdict, matches_at_once, pattern_problem

CLIENT_ADDRESSES = frozenset(
    {
        *("rootUrl", "adminUrl", "baseUrl", "redirectUris", "webOrigins", "jwksUri"),
        *("requestUris", "backchannelLogoutUrl", "frontchannelLogoutUrl"),
        *("postLogoutRedirectUris", "cibaClientNotificationEndpoint"),
        *("logoUri", "policyUri", "tosUri", "sectorIdentifierUri"),
    }
)


@dataclass(frozen=True, slots=True)
class SecureClientUrisPattern(Executor):
    """Refuses addresses of the `fields`, empty for all, that match none of the `patterns`.

    Of a request it judges where the browser would go, after a sign-in or a logout. Keycloak judges
    clients alone, when they are created or changed.
    """

    provider: ClassVar = "secure-client-uris-pattern"
    patterns: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        patterns = configuration.texts("allowed-patterns")
        fields = frozenset(configuration.texts("client-uri-fields"))
        for pattern in patterns:
            problem = pattern_problem(pattern)
            if problem is not None:
                raise InvalidConfiguration(f"allowed-patterns: {pattern[:50]!r}: {problem}")
        unknown = fields - CLIENT_ADDRESSES
        if unknown:
            names = ", ".join(sorted(CLIENT_ADDRESSES))
            text = f"client-uri-fields has {min(unknown)[:50]!r}, allowed are {names}"
            raise InvalidConfiguration(text)
        return cls(patterns, fields)

    def check_change(self, change: ClientChange) -> None:
        matches = matches_at_once()
        for name, addresses in change.addresses(change.proposed).items():
            if self.fields and name not in self.fields:
                continue
            if addresses and not self.patterns:
                text = f"Invalid {name}: No valid allowed patterns configured"
                raise PolicyRefusal(INVALID_METADATA, text)
            for address in addresses:
                verdicts = (matches.verdict(pattern, address) for pattern in self.patterns)
                if Verdict.MATCHES not in verdicts:
                    raise PolicyRefusal(INVALID_METADATA, f"Invalid {name}")

    def check_authorization(self, request: AuthorizationRequested) -> None:
        if not self._accepts("redirectUris", request.redirect_uri):
            raise PolicyRefusal(INVALID_REQUEST, "Invalid redirect_uri")

    def check_request(self, request: ClientRequest) -> None:
        if not self._accepts("postLogoutRedirectUris", request.redirect_uri):
            raise PolicyRefusal(INVALID_REQUEST, "Invalid post_logout_redirect_uri")

    def _accepts(self, name: str, uri: str | None) -> bool:
        """Return whether a browser may be sent to an address that stands for such a field."""
        if uri is None or (self.fields and name not in self.fields):
            return True
        matches = matches_at_once()
        return any(matches.verdict(each, uri) is Verdict.MATCHES for each in self.patterns)
