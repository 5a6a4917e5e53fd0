"""secure-redirect-uris-enforcer: which redirect URIs clients may have, and requests may name.

Spec: OAuth 2.1 draft §2.3.1, §8.4, RFC 8252 §7. Host names are compared as text, never looked up.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import ClassVar, Final, Self
from urllib.parse import SplitResult, urlsplit

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.events import (
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
)
from gateway.client_policies.executors.executor import Executor
from gateway.client_policies.refusal import (
    INVALID_REQUEST,
    InvalidConfiguration,
    PolicyRefusal,
)
from gateway.domain.clients import Client
from gateway.domain.limits.patterns import Verdict, matches_at_once, pattern_problem

_INVALID: Final = "Invalid Redirect Uri: invalid uri"
_LOOPBACK: Final = "Invalid Redirect Uri: invalid loopback address"
_PRIVATE_SCHEME: Final = "Invalid Redirect Uri: invalid private use scheme"
_LOCALHOST: Final = "localhost"
_IPV6_LOOPBACK: Final = "::1"


@dataclass(frozen=True, slots=True)
class SecureRedirectUrisEnforcer(Executor):
    """Judges redirect URIs, and those after a logout, by what each flag allows."""

    provider: ClassVar = "secure-redirect-uris-enforcer"
    private_use_scheme: bool = False
    ipv4_loopback: bool = False
    ipv6_loopback: bool = False
    http_scheme: bool = False
    wildcard_path: bool = False
    oauth_2_1: bool = False
    open_redirect: bool = False
    permitted_domains: tuple[str, ...] = ()
    """Patterns of hosts; empty permits all."""

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        domains = configuration.texts("allow-permitted-domains")
        for pattern in domains:
            problem = pattern_problem(pattern)
            if problem is not None:
                raise InvalidConfiguration(f"allow-permitted-domains: {pattern[:50]!r}: {problem}")
        return cls(
            private_use_scheme=configuration.flag("allow-private-use-uri-scheme"),
            ipv4_loopback=configuration.flag("allow-ipv4-loopback-address"),
            ipv6_loopback=configuration.flag("allow-ipv6-loopback-address"),
            http_scheme=configuration.flag("allow-http-scheme"),
            wildcard_path=configuration.flag("allow-wildcard-context-path"),
            oauth_2_1=configuration.flag("oauth-2-1-compliant"),
            open_redirect=configuration.flag("allow-open-redirect"),
            permitted_domains=domains,
        )

    def check_change(self, change: ClientChange) -> None:
        if not _redirects(change.proposed):
            return
        addresses = change.addresses(change.proposed)
        if not addresses.get("redirectUris"):
            raise PolicyRefusal(INVALID_REQUEST, _INVALID)
        if not self.open_redirect:
            for name in ("redirectUris", "postLogoutRedirectUris"):
                for uri in addresses.get(name, ()):
                    self._require(uri, is_parameter=False)

    def check_start(self, start: AuthorizationStart) -> None:
        if _redirects(start.client) and start.redirect_uri is not None:
            self._require(start.redirect_uri, is_parameter=True)

    def check_authorization(self, request: AuthorizationRequested) -> None:
        """Judge again: some conditions say nothing about a request before it is verified."""
        client, uri = request.client, request.redirect_uri
        if not _redirects(client) or uri is None:
            return
        self._require(uri, is_parameter=True)
        allows_wildcards = self.wildcard_path and not self.oauth_2_1
        if not allows_wildcards and not client.redirects.match_exactly(uri, request.base_url):
            # A client of before the policy may have a wildcard, which no new one may have.
            raise PolicyRefusal(INVALID_REQUEST, _INVALID)

    def check_request(self, request: ClientRequest) -> None:
        if request.redirect_uri is not None and not self.open_redirect:
            self._require(request.redirect_uri, is_parameter=None)

    def _require(self, uri: str, *, is_parameter: bool | None) -> None:
        """Raise PolicyRefusal; None is the address after a logout, of any port."""
        try:
            parts = urlsplit(uri)
            port = parts.port
        except ValueError as error:
            raise PolicyRefusal(INVALID_REQUEST, _INVALID) from error
        loopback = _loopback_version(parts.hostname)
        if loopback is not None:
            allowed = self.ipv4_loopback if loopback == 4 else self.ipv6_loopback  # noqa: PLR2004
            if not allowed or not self._is_valid_loopback(uri, parts, port, is_parameter):
                raise PolicyRefusal(INVALID_REQUEST, _LOOPBACK)
        elif parts.scheme in {"http", "https"}:
            if not self._is_valid_web_address(uri, parts):
                raise PolicyRefusal(INVALID_REQUEST, _INVALID)
        elif not parts.scheme:
            raise PolicyRefusal(INVALID_REQUEST, _INVALID)
        elif not self.private_use_scheme or not self._is_valid_private_scheme(uri, parts):
            raise PolicyRefusal(INVALID_REQUEST, _PRIVATE_SCHEME)

    def _is_valid_loopback(
        self,
        uri: str,
        parts: SplitResult,
        port: int | None,
        is_parameter: bool | None,  # noqa: FBT001 - private
    ) -> bool:
        if (parts.scheme == "http" and not self.http_scheme) or not self._is_valid_wildcard(uri):
            return False
        if not self.oauth_2_1:
            return True
        if "#" in uri or not _is_plain(parts.hostname):
            return False
        return is_parameter is None or (port is not None) == is_parameter

    def _is_valid_web_address(self, uri: str, parts: SplitResult) -> bool:
        if parts.scheme == "http" and (self.oauth_2_1 or not self.http_scheme):
            return False
        if not self._is_valid_wildcard(uri) or (self.oauth_2_1 and "#" in uri):
            return False
        host, matches = parts.hostname or "", matches_at_once()
        return not self.permitted_domains or any(
            matches.verdict(pattern, host) is Verdict.MATCHES for pattern in self.permitted_domains
        )

    def _is_valid_private_scheme(self, uri: str, parts: SplitResult) -> bool:
        if not self._is_valid_wildcard(uri):
            return False
        return not self.oauth_2_1 or ("#" not in uri and "." in parts.scheme)

    def _is_valid_wildcard(self, uri: str) -> bool:
        if "*" not in uri:
            return True
        if self.oauth_2_1 or not self.wildcard_path:
            return False
        return not urlsplit(uri).path.startswith(("/*", "*")) or uri.count("*") == 1


def _redirects(client: Client) -> bool:
    return client.standard_flow_enabled or client.implicit_flow_enabled


def _is_plain(host: str | None) -> bool:
    """Return whether a loopback host is an address, that of version 6 in its shortest form."""
    return host != _LOCALHOST and (":" not in (host or "") or host == _IPV6_LOOPBACK)


def _loopback_version(host: str | None) -> int | None:
    """Return 4 or 6 for a loopback address, `localhost` among those of version 4."""
    if host == _LOCALHOST:
        return 4
    try:
        address = ip_address(host or "")
    except ValueError:
        return None
    if not address.is_loopback:
        return None
    return 4 if isinstance(address, IPv4Address) else 6
