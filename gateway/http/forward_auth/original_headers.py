"""The headers of a decision request, read in one pass: each at most once, in one spelling.

A header that comes twice, or with `_` for `-`, could be read differently by the proxy, by us and by
the service: the request is refused. attacks: A4, B1, B4
"""

from collections.abc import Container, Iterable
from typing import Final

from gateway.domain.forward_auth import AmbiguousTarget
from gateway.forward_auth.caller_headers import is_unremovable

AUTHORIZATION: Final = b"authorization"
COOKIE: Final = b"cookie"
DPOP: Final = b"dpop"
ACCEPT: Final = b"accept"
FETCH_MODE: Final = b"sec-fetch-mode"
REQUESTED_WITH: Final = b"x-requested-with"
FORWARDED_HOST: Final = b"x-forwarded-host"
FORWARDED_METHOD: Final = b"x-forwarded-method"
FORWARDED_URI: Final = b"x-forwarded-uri"
ORIGINAL_REQUEST: Final = b"x-original-request"
PROXY_SERVER: Final = b"x-realmgate-server"
HOST: Final = b"host"
REFERER: Final = b"referer"
_METHOD_OVERRIDES: Final = frozenset(
    {b"x-http-method-override", b"x-http-method", b"x-method-override"}
)
_READ: Final = frozenset(
    {
        *(AUTHORIZATION, COOKIE, DPOP, FETCH_MODE, REQUESTED_WITH, HOST, REFERER),
        *(FORWARDED_HOST, FORWARDED_METHOD, FORWARDED_URI, ORIGINAL_REQUEST),
        PROXY_SERVER,
    }
)


class OriginalHeaders:
    """The headers of one decision request; raises AmbiguousTarget.

    `unremovable` are names of headers by which a service could know its caller, in a form that the
    proxy does not remove.
    """

    __slots__ = ("_values", "unremovable")

    def __init__(
        self, headers: Iterable[tuple[bytes, bytes]], of_edge: Container[bytes] = ()
    ) -> None:
        """Take `of_edge`, names of headers that the proxy sends and has overwritten."""
        values: dict[bytes, bytes] = {}
        self.unremovable: tuple[str, ...] = ()
        for sent, value in headers:
            if is_unremovable(sent) and sent not in of_edge:
                self.unremovable = (*self.unremovable, sent.decode("latin-1"))
            name = sent.replace(b"_", b"-") if b"_" in sent else sent
            if name in _METHOD_OVERRIDES:
                raise AmbiguousTarget("a header overrides the method")
            if name in _READ:
                if name in values or name is not sent:
                    text = name.decode("ascii")
                    raise AmbiguousTarget(f"the header {text} is repeated or misspelled")
                values[name] = value
            elif name == ACCEPT:
                values.setdefault(name, value)
        self._values = values

    def text(self, name: bytes) -> str | None:
        """Return the value, None without the header."""
        value = self._values.get(name)
        return None if value is None else value.decode("latin-1")

    def required(self, name: bytes) -> str:
        """Return the value of a header that the proxy sends; raises AmbiguousTarget."""
        value = self.text(name)
        if value is None:
            sent = name.decode("ascii")
            raise AmbiguousTarget(
                f"the proxy does not send the header {sent}: use its configuration of this version"
            )
        return value
