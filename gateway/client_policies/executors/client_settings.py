"""Executors for settings of clients: addresses, redirect URIs, consent, scope, logout, kind.

Host names are compared as text, never looked up. A pattern that may take long is refused when the
profile is written. Spec: OAuth 2.1 draft §2.3.1, §8.4, RFC 8252 §7 (redirect URIs)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, ip_address
from typing import Any, ClassVar, Final
from urllib.parse import SplitResult, urlsplit

from gateway.client_policies.events import (
    INVALID_METADATA,
    INVALID_REGISTRATION,
    INVALID_REQUEST,
    TOKEN_REQUESTS,
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
    EventKind,
    InvalidConfiguration,
    PolicyRefusal,
)
from gateway.client_policies.interfaces import (
    NOTHING,
    AutoConfigured,
    ClientSettings,
    Executor,
    PolicyConfiguration,
    flag_option,
    option,
)
from gateway.domain.clients import Client
from gateway.domain.limits.patterns import Verdict, matches_at_once, pattern_problem

_KINDS: Final = TOKEN_REQUESTS | {
    EventKind.PUSHED_AUTHORIZATION_REQUEST,
    EventKind.DEVICE_AUTHORIZATION_REQUEST,
}


@dataclass(frozen=True, slots=True)
class ConfidentialClient(Executor):
    """Refuses clients that cannot authenticate, unlike Keycloak at every grant."""

    provider: ClassVar = "confidential-client"

    def check_authorization(self, request: AuthorizationRequested) -> None:
        _require_confidential(request.client)

    def check_request(self, request: ClientRequest) -> None:
        if request.kind in _KINDS:
            _require_confidential(request.client)


def _require_confidential(client: Client) -> None:
    if client.public_client:
        raise PolicyRefusal("invalid_client", "invalid client access type: public")


_WITHOUT_QUESTION: Final = frozenset(
    {
        EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST,
        EventKind.DEVICE_TOKEN_REQUEST,
        EventKind.TOKEN_REFRESH,
    }
)
"""A service account has no user, the page of a device always asks, and a session goes on."""


@dataclass(frozen=True, slots=True)
class ConsentRequired(AutoConfigured):
    """Demands `consentRequired`; unlike in Keycloak, users of every client are asked."""

    provider: ClassVar = "consent-required"
    setting: ClassVar = ClientSettings({"consentRequired": True})
    refusal: ClassVar = (INVALID_REGISTRATION, "Client is required to enable consentRequired")

    def has_setting(self, client: Client) -> bool:
        return client.consent_required

    def requires_consent(self) -> bool:
        return True

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        if request.kind in _WITHOUT_QUESTION:
            return client
        return replace(client, consent_required=True)


@dataclass(frozen=True, slots=True)
class FullScopeDisabled(AutoConfigured):
    """Demands `fullScopeAllowed` off; unlike in Keycloak, tokens are issued as if it were."""

    provider: ClassVar = "full-scope-disabled"
    setting: ClassVar = ClientSettings({"fullScopeAllowed": False})
    refusal: ClassVar = (INVALID_REGISTRATION, "Not permitted to enable fullScopeAllowed")

    def has_setting(self, client: Client) -> bool:
        return not client.full_scope_allowed

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        return replace(client, full_scope_allowed=False)


_TEXTS: Final[Mapping[str, str]] = {
    "backchannelLogoutUrl": "logoutUrl",
    "frontchannelLogoutUrl": "frontChannelLogoutUrl",
    "postLogoutRedirectUris": "postLogoutUris",
}
_LOCAL: Final = ("http://localhost", "http://127.0.0.1")
_ENDS: Final = ("", "/", ":", "?")


@dataclass(frozen=True, slots=True)
class SecureClientUris(Executor):
    """Refuses addresses with a wildcard or without TLS, of clients and of requests.

    `allows_local` excepts local addresses of requests alone.
    """

    provider: ClassVar = "secure-client-uris"
    allows_local: bool = flag_option("allow-http-on-localhost")

    def configure(self, change: ClientChange) -> ClientSettings:
        """Take the root URL of a new client for its redirect URI, in place of a wildcard below."""
        root = change.proposed.redirects.root_url
        if change.kind is EventKind.REGISTER and root and not change.proposed.redirects.patterns:
            return ClientSettings({"redirectUris": [root]})
        return NOTHING

    def check_change(self, change: ClientChange) -> None:
        for name, addresses in change.addresses(change.proposed).items():
            if name != "sectorIdentifierUri" and not all(map(_is_secure, addresses)):
                raise PolicyRefusal(INVALID_METADATA, f"Invalid {_TEXTS.get(name, name)}")

    def check_authorization(self, request: AuthorizationRequested) -> None:
        uri = request.redirect_uri or ""
        if self.allows_local and _is_local(uri):
            return
        redirects, base_url = request.client.redirects, request.base_url
        if not _is_secure(uri) or not redirects.match_exactly(uri, base_url):
            # A client of before the policy may have a wildcard, which no new one may have.
            raise PolicyRefusal(INVALID_REQUEST, "Invalid redirect_uri")

    def check_request(self, request: ClientRequest) -> None:
        uri = request.redirect_uri
        if uri is not None and not _is_secure(uri) and not (self.allows_local and _is_local(uri)):
            raise PolicyRefusal(INVALID_REQUEST, "Invalid post_logout_redirect_uri")


def _is_secure(address: str) -> bool:
    return address.startswith("https://") and "*" not in address


def _is_local(uri: str) -> bool:
    """Return whether the whole host is `localhost` or `127.0.0.1`, not only its beginning."""
    return "*" not in uri and any(
        uri.startswith(begin) and uri[len(begin) : len(begin) + 1] in _ENDS for begin in _LOCAL
    )


CLIENT_ADDRESSES = frozenset(
    {
        *("rootUrl", "adminUrl", "baseUrl", "redirectUris", "webOrigins", "jwksUri"),
        *("requestUris", "backchannelLogoutUrl", "frontchannelLogoutUrl"),
        *("postLogoutRedirectUris", "cibaClientNotificationEndpoint"),
        *("logoUri", "policyUri", "tosUri", "sectorIdentifierUri"),
    }
)


def _patterns_option(name: str) -> Any:
    """Declare a field that is a tuple of patterns; patterns that may take long are refused."""

    def read_patterns(configuration: PolicyConfiguration) -> tuple[str, ...]:
        patterns = configuration.texts(name)
        for pattern in patterns:
            problem = pattern_problem(pattern)
            if problem is not None:
                raise InvalidConfiguration(f"{name}: {pattern[:50]!r}: {problem}")
        return patterns

    return option(read_patterns, ())


def _address_fields(configuration: PolicyConfiguration) -> frozenset[str]:
    fields = frozenset(configuration.texts("client-uri-fields"))
    unknown = fields - CLIENT_ADDRESSES
    if unknown:
        names = ", ".join(sorted(CLIENT_ADDRESSES))
        text = f"client-uri-fields has {min(unknown)[:50]!r}, allowed are {names}"
        raise InvalidConfiguration(text)
    return fields


@dataclass(frozen=True, slots=True)
class SecureClientUrisPattern(Executor):
    """Refuses addresses of the `fields` (empty: all) that match none of the `patterns`.

    Unlike Keycloak, it also judges the addresses to which requests send the browser.
    """

    provider: ClassVar = "secure-client-uris-pattern"
    patterns: tuple[str, ...] = _patterns_option("allowed-patterns")
    fields: frozenset[str] = option(_address_fields, frozenset())

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
        if uri is None or (self.fields and name not in self.fields):
            return True
        matches = matches_at_once()
        return any(matches.verdict(each, uri) is Verdict.MATCHES for each in self.patterns)


@dataclass(frozen=True, slots=True)
class SecureLogout(Executor):
    """Refuses front-channel logout; Keycloak refuses each logout by GET instead."""

    provider: ClassVar = "secure-logout"
    allows_front_channel: bool = flag_option("allow-front-channel-logout")

    def check_change(self, change: ClientChange) -> None:
        self._require_back_channel(change.proposed)

    def check_request(self, request: ClientRequest) -> None:
        if request.kind is EventKind.LOGOUT_REQUEST:
            self._require_back_channel(request.client)

    def _require_back_channel(self, client: Client) -> None:
        logout = client.logout
        uses_front_channel = logout.uses_front_channel or logout.front_channel_path
        if uses_front_channel and not self.allows_front_channel:
            text = "Front-channel logout is not allowed for this client"
            raise PolicyRefusal(INVALID_REGISTRATION, text)


_INVALID: Final = "Invalid Redirect Uri: invalid uri"
_LOOPBACK: Final = "Invalid Redirect Uri: invalid loopback address"
_LOCALHOST: Final = "localhost"


@dataclass(frozen=True, slots=True)
class SecureRedirectUrisEnforcer(Executor):
    """Judges redirect URIs, also after logouts. Spec: OAuth 2.1 draft §2.3.1, §8.4, RFC 8252 §7."""

    provider: ClassVar = "secure-redirect-uris-enforcer"
    permitted_domains: tuple[str, ...] = _patterns_option("allow-permitted-domains")
    """Patterns of hosts; empty permits all."""
    private_use_scheme: bool = flag_option("allow-private-use-uri-scheme")
    ipv4_loopback: bool = flag_option("allow-ipv4-loopback-address")
    ipv6_loopback: bool = flag_option("allow-ipv6-loopback-address")
    http_scheme: bool = flag_option("allow-http-scheme")
    wildcard_path: bool = flag_option("allow-wildcard-context-path")
    oauth_2_1: bool = flag_option("oauth-2-1-compliant")
    open_redirect: bool = flag_option("allow-open-redirect")

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
            raise PolicyRefusal(INVALID_REQUEST, "Invalid Redirect Uri: invalid private use scheme")

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
    return host != _LOCALHOST and (":" not in (host or "") or host == "::1")


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


@dataclass(frozen=True, slots=True)
class UseLightweightAccessToken(Executor):
    """Issues lightweight access tokens, which hold only claims of mappers, to every client."""

    provider: ClassVar = "use-lightweight-access-token"

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        return replace(client, tokens=replace(client.tokens, lightweight=True))
