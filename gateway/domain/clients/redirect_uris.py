"""Redirect URIs: which addresses a response may be sent to.

A pattern is compared as text: exactly, or by its beginning where it ends with `*`. What stands
behind the beginning must not change the host or lead out of the path, however it is decoded.
Keycloak: 12.10 authorization. Spec: RFC 6749 §3.1.2, RFC 8252 §7.3, RFC 9700 §4.1; attacks C1, C2
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from gateway.domain.clients.attributes import LIST, SWITCH, setting
from gateway.domain.limits.caches import cached

LONGEST_REDIRECT_URI: Final = 4000
UNSAFE_SCHEMES: Final = frozenset({"data", "javascript", "vbscript"})
"""A browser that is redirected there would run what the address contains."""
_NEVER_REDIRECTED: Final = UNSAFE_SCHEMES | {"about", "blob", "file", "urn", "view-source"}
_WEB: Final = frozenset({"http", "https"})
_URI: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):"
    r"(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)"
    r"(?P<rest>(?:\?[^#]*)?(?:#.*)?)"
)
_SIGNS: Final = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
_BRACKETS: Final = re.compile(r"[\[\]]")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_LOOPBACK: Final = re.compile(r"(http://(?:localhost|127\.0\.0\.1|\[::1\])):[0-9]{1,5}(?=[/?#]|$)")
_SEPARATOR: Final = re.compile(r"[&?]")
_DECODED_AT_MOST: Final = 4
_HIDDEN: Final = re.compile(r"[\x00-\x1f\x7f\\]")
_ANYWHERE: Final = "*"
_OF_REDIRECTS: Final = "+"
_NONE: Final = "-"
_OF_RESPONSES: Final = frozenset(
    {
        *("code", "state", "iss", "response", "session_state", "error", "error_description"),
        *("access_token", "id_token", "token_type", "expires_in"),
        *("kc_action", "kc_action_status"),
    }
)
"""What a response adds: an address that has it already could pass for a response."""
_OWN_BASES: Final = ("${authBaseUrl}", "${authAdminUrl}")


@dataclass(frozen=True, slots=True)
class RedirectUris:
    """The redirect URIs of a client, as an administrator wrote them."""

    root_url: str = ""
    """`rootUrl`: what a pattern that begins with `/` belongs to."""
    patterns: tuple[str, ...] = ()
    """`redirectUris`"""
    after_logout: tuple[str, ...] = setting("post.logout.redirect.uris", LIST)
    """None or `+` for the redirect URIs, `-` for nowhere."""
    may_hold_response: bool = setting("allow.oidc.params.in.redirect.uris", SWITCH)
    """Parameters of responses may stand in them already."""

    @cached(1024 * 1024)
    def match(self, uri: str, base_url: str) -> bool:
        """Tell whether responses may be sent to `uri`. `base_url` is the gateway's own."""
        if not self.may_hold_response and _holds_response(uri):
            return False
        return _matches(uri, self._absolute(self.patterns, base_url))

    def match_exactly(self, uri: str, base_url: str) -> bool:
        """Tell the same by the patterns without a wildcard alone."""
        exact = tuple(each for each in self.patterns if _ANYWHERE not in each)
        return replace(self, patterns=exact).match(uri, base_url)

    def only(self, base_url: str) -> str | None:
        """Return the redirect URI of a request that names none, where there is one alone."""
        if len(self.patterns) != 1:
            return None
        (pattern,) = self._absolute(self.patterns, base_url)
        uri = pattern.partition("/*")[0]
        return uri if self.match(uri, base_url) else None

    def match_after_logout(self, uri: str, base_url: str) -> bool:
        """Tell whether a browser may be sent to `uri` after a logout."""
        return _matches(uri, self._absolute(self.post_logout_patterns, base_url))

    @property
    def post_logout_patterns(self) -> tuple[str, ...]:
        """What may follow a logout. The first entry may stand for another list."""
        if not self.after_logout:
            return self.patterns
        first, *others = self.after_logout
        if first == _NONE:
            return ()
        return (*self.patterns, *others) if first == _OF_REDIRECTS else self.after_logout

    def _absolute(self, patterns: Iterable[str], base_url: str) -> tuple[str, ...]:
        root = self.root_url
        for name in _OWN_BASES:
            root = root.replace(name, base_url)
        if not root:
            root = _origin(base_url)
        return tuple(f"{root}{each}" if each.startswith("/") else each for each in patterns)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A URI taken apart; without an authority it is None, not empty."""

    scheme: str
    authority: str | None
    path: str


def _matches(uri: str, patterns: tuple[str, ...]) -> bool:
    parts = _parse(uri)
    if parts is None:
        return False
    return any(
        _matches_pattern(candidate, parts, pattern)
        for candidate in _spellings(uri)
        for pattern in patterns
    )


def _parse(uri: str) -> _Parts | None:
    """Return the parts of an absolute URI that a browser may be sent to, or None."""
    if len(uri) > LONGEST_REDIRECT_URI or _SIGNS.fullmatch(uri) is None or uri.count("#") > 1:
        return None
    found = _URI.fullmatch(uri)
    if found is None:
        return None
    scheme, authority, path = found["scheme"].lower(), found["authority"], found["path"]
    if scheme in _NEVER_REDIRECTED or not _is_host(scheme, authority):
        return None
    if not (authority or path) or _BRACKETS.search(path) or not _stays_below(path):
        return None
    return _Parts(scheme, authority, path)


def _is_host(scheme: str, authority: str | None) -> bool:
    """Refuse user information, and what browsers and servers read as different hosts."""
    if authority:
        return _HOST.fullmatch(authority) is not None
    return scheme not in _WEB


def _stays_below(path: str) -> bool:
    """Refuse `.` and `..` as segments, backslashes and control characters, however encoded."""
    for _ in range(_DECODED_AT_MOST):
        segments = (segment.partition(";")[0] for segment in path.split("/"))
        if _HIDDEN.search(path) or any(segment in {".", ".."} for segment in segments):
            return False
        decoded = unquote(path, errors="replace")
        if decoded == path:
            return True
        path = decoded
    return False


def _spellings(uri: str) -> Iterator[str]:
    """Yield the URI, and the one without the port where a native app chose it as it started."""
    yield uri
    without_port = _LOOPBACK.sub(r"\1", uri, count=1)
    if without_port != uri:
        yield without_port


def _matches_pattern(uri: str, parts: _Parts, pattern: str) -> bool:
    if uri == pattern:
        return True
    if pattern == _ANYWHERE:
        return parts.scheme in _WEB
    if not pattern.endswith("*") or "?" in pattern:
        return False
    beginning = pattern[:-1]
    path = uri.partition("?")[0].partition("#")[0]
    if path == beginning.removesuffix("/"):
        return True
    return path.startswith(beginning) and _leaves_host(parts, beginning)


def _holds_response(uri: str) -> bool:
    """Return whether a parameter of a response is in the query or in the fragment.

    An application that is routed by its hash has a query in the fragment: `#/route?name=value`.
    """
    address, _, fragment = uri.partition("#")
    pairs = address.partition("?")[2].split("&") + _SEPARATOR.split(fragment)
    names = (pair.partition("=")[0] for pair in pairs)
    return any(unquote(name).lower() in _OF_RESPONSES for name in names)


def _leaves_host(parts: _Parts, beginning: str) -> bool:
    """Refuse a longer host than the pattern's: a `*` behind a host stands for its paths alone."""
    scheme, separator, behind = beginning.partition("://")
    if scheme.lower() not in _WEB or not separator or "/" in behind or not behind:
        return scheme.lower() not in _WEB or bool(separator)
    authority = parts.authority or ""
    if behind.endswith(":"):
        return _PORT.fullmatch(authority.removeprefix(behind)) is not None
    return authority in {behind, behind.removesuffix("/")}


def _origin(url: str) -> str:
    scheme, _, behind = url.partition("://")
    return f"{scheme}://{behind.partition('/')[0]}"


_ORIGIN: Final = re.compile(r"(?i)https?://[^/?#\\@\s*]+")


def origins_of(redirect_uris: Iterable[Any]) -> list[str]:
    """Return the web origins of the addresses that have one, each once."""
    found = (_ORIGIN.match(uri) for uri in redirect_uris if isinstance(uri, str))
    return list(dict.fromkeys(origin.group() for origin in found if origin))


def allowed_origins(
    web_origins: tuple[str, ...], document: Mapping[str, Any]
) -> tuple[str, ...] | None:
    """Return web origins, `+` replaced by those of redirect URIs. Keycloak: web origins."""
    if _OF_REDIRECTS not in web_origins:
        return web_origins or None
    root = document.get("rootUrl") or ""
    addresses = (
        f"{root}{uri}" if uri.startswith("/") else uri for uri in document.get("redirectUris", ())
    )
    own = (origin for origin in web_origins if origin != _OF_REDIRECTS)
    return tuple(dict.fromkeys((*own, *origins_of(addresses))))
