"""What a request behind a proxy asks for, read in the one way that nginx and a service share.

A request that a proxy and a service could read differently is refused, never repaired.
Source: attacks B1, B3; RFC 3986 §3.3; RFC 9112 §3.2
"""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote_plus, unquote_to_bytes

from gateway.domain.forward_auth.hosts import AmbiguousTarget, canonical_host

LONGEST_URI: Final = 8192
"""The longest request target in bytes."""
_SCHEMES: Final = frozenset({"http", "https"})
_METHOD: Final = re.compile(r"[A-Z0-9!#$%&'*+.^_`|~-]{1,32}")
_URI: Final = re.compile(r"/[!-~]*")
_PLAIN_PATH: Final = re.compile(r"(/[A-Za-z0-9_~!$&'()*+,=:@-][A-Za-z0-9._~!$&'()*+,=:@-]*)+/?")
_INVALID_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE: Final = re.compile(r"%([0-9A-Fa-f]{2}|[uU])")
_CHARACTERS: Final = frozenset("\\;#?")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
_METHOD_OVERRIDE: Final = "_method"


@dataclass(frozen=True, slots=True)
class OriginalRequest:
    """The caller's request line as the proxy reports it.

    `uri` is the request target as sent: path and query. `host` is the Host header, with the port
    where the caller named one. `server` is name and port of the proxy's server that received the
    request, which the caller's host does not choose alone; None for an operator's question.
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
    if original.scheme not in _SCHEMES:
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
