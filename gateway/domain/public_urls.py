"""The public address of the gateway: every issuer and every link begins with it.

An absolute http or https URL of host, port and path alone, in the characters of RFC 3986 and no
others, so that nothing written into a token or a header can break out. Spec: RFC 3986 §3
"""

import re
from typing import Final

_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?"
_HOST: Final = rf"({_LABEL}(\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+\])"
_PATH: Final = r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})+)*"
_PUBLIC_URL: Final = re.compile(rf"https?://{_HOST}(:(?P<port>\d{{1,5}}))?{_PATH}/?")
_PORTS: Final = range(1, 1 << 16)


def public_url(text: str) -> str:
    """Return the URL without a slash at its end; raises ValueError, which quotes nothing of it."""
    match = _PUBLIC_URL.fullmatch(text)
    if match is None:
        raise ValueError(
            "an absolute http or https address of host, port and path, without user, query,"
            " fragment, quotes and white space,"
        )
    port = match.group("port")
    if port is not None and int(port) not in _PORTS:
        raise ValueError("a port from 1 to 65535")
    return text.rstrip("/")
