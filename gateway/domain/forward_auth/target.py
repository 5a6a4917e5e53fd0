"""What a request behind a proxy asks for, read in the one way that nginx and a service share.

A request that a proxy and a service could read differently is refused, never repaired.
Source: attacks B1, B3; RFC 3986 §3.3; RFC 9112 §3.2
"""

import re
import unicodedata
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import unquote_plus, unquote_to_bytes

from gateway.domain.limits.caches import cached

LONGEST_URI: Final = 8192
"""The longest request target in bytes."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_METHOD: Final = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]{1,32}")
_URI: Final = re.compile(r"/[!-~]*")
_PLAIN_PATH: Final = re.compile(r"(/[A-Za-z0-9_~!$&'()*+,=:@-][A-Za-z0-9._~!$&'()*+,=:@-]*)+/?")
_INVALID_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2}|[uU])")
_CHARACTERS: Final = frozenset("\\;#?")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
_HOST: Final = re.compile(
    r"(?P<name>[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:(?P<port>[0-9]{1,5}))?"
)
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LARGEST_PORT: Final = 65535
_METHOD_OVERRIDE: Final = "_method"


class AmbiguousTarget(Exception):
    """The request cannot be read in one way; `str()` is the reason, free of the request's text."""


@dataclass(frozen=True, slots=True)
class OriginalRequest:
    """The caller's request line as the proxy reports it.

    `uri` is the request target as sent: path and query. `host` is the Host header, with the port
    where the caller named one. `server` is the name of the proxy's server that got the request,
    which may be another one where the caller made the host up; None where the proxy does not say.
    """

    method: str
    scheme: str
    host: str
    uri: str = field(repr=False)
    server: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What rules are compared with.

    `host` is in lower case and has a port only where it is not the scheme's own. `path` is decoded
    once, begins with a slash, and has no query: nginx's `$uri`.
    """

    method: str
    scheme: str
    host: str
    path: str


def target_of(original: OriginalRequest) -> Target:
    """Return what the request asks for; raises AmbiguousTarget."""
    if _METHOD.fullmatch(original.method) is None:
        raise AmbiguousTarget("the method is no token in upper case")
    if original.scheme not in _DEFAULT_PORTS:
        raise AmbiguousTarget("the scheme is neither http nor https")
    path, separator, query = _request_target(original.uri).partition("?")
    if separator:
        _check_query(query)
    return Target(
        original.method,
        original.scheme,
        canonical_host(original.host, original.scheme),
        path if _PLAIN_PATH.fullmatch(path) else _decoded(path),
    )


# Called for every request.
@cached(256 * 1024)
def canonical_host(text: str, scheme: str = "https") -> str:
    """Return the host in lower case, without the scheme's own port; raises AmbiguousTarget."""
    match = _HOST.fullmatch(text.lower()) if text.isascii() else None
    if match is None or not _names_a_host(match["name"]):
        raise AmbiguousTarget("the host is neither a host name nor an address")
    port = match["port"]
    if port is None or port == _DEFAULT_PORTS[scheme]:
        return match["name"]
    if port.startswith("0") or int(port) > _LARGEST_PORT:
        raise AmbiguousTarget("the port is not one of 1 to 65535")
    return match[0]


def without_port(host: str) -> str:
    """Return the name or address of a canonical host."""
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def check_path(path: str) -> None:
    """Check a decoded path; raises AmbiguousTarget where a service could read another one."""
    if not path.startswith("/"):
        raise AmbiguousTarget("the path does not begin with a slash")
    _check_characters(path)
    _check_segments(path)
    if not path.isascii():
        compatible = unicodedata.normalize("NFKC", path)
        if compatible.count("/") != path.count("/"):
            raise AmbiguousTarget("a character of the path stands for a slash")
        _check_characters(compatible)
        _check_segments(compatible)


def _request_target(uri: str) -> str:
    if len(uri) > LONGEST_URI:
        raise AmbiguousTarget(f"the request target is longer than {LONGEST_URI} bytes")
    if _URI.fullmatch(uri) is None:
        raise AmbiguousTarget("the request target is no path of printable ASCII characters")
    return uri


def _decoded(path: str) -> str:
    if _INVALID_ESCAPE.search(path):
        raise AmbiguousTarget("the path has an invalid percent-encoding")
    if "%2f" in path.lower():
        raise AmbiguousTarget("the path has an encoded slash")
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        raise AmbiguousTarget("the path is not UTF-8") from None
    check_path(decoded)
    return decoded


def _check_characters(path: str) -> None:
    if not _CHARACTERS.isdisjoint(path):
        raise AmbiguousTarget("the path has a backslash, semicolon, number sign or question mark")
    if any(unicodedata.category(character) in _INVISIBLE for character in path):
        raise AmbiguousTarget("the path has a control character or one without a shape")
    if _ESCAPE.search(path):
        raise AmbiguousTarget("the path is percent-encoded twice")


def _check_segments(path: str) -> None:
    *middle, last = path.split("/")[1:]
    for segment in middle if last == "" else [*middle, last]:
        if segment.strip(" .") == "":
            raise AmbiguousTarget("the path has an empty segment or a dot segment")
        if segment != segment.strip():
            raise AmbiguousTarget("a segment of the path begins or ends with white space")


def _check_query(query: str) -> None:
    if "#" in query:
        raise AmbiguousTarget("the request target has a fragment")
    if "%" not in query and "method" not in query.lower():
        return
    for parameter in re.split("[&;]", query):
        name = unquote_plus(parameter.partition("=")[0]).lstrip().lower()
        if name.replace(".", "_").replace(" ", "_").startswith(_METHOD_OVERRIDE):
            raise AmbiguousTarget("the query overrides the method")


def _names_a_host(name: str) -> bool:
    if name.startswith("["):
        return _is_address(name[1:-1], IPv6Address)
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _is_address(name, IPv4Address)
    return all(map(_LABEL.fullmatch, labels))


def _is_address(text: str, kind: type[IPv4Address | IPv6Address]) -> bool:
    try:
        return str(kind(text)) == text
    except ValueError:
        return False
