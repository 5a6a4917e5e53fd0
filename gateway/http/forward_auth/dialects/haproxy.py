"""HAProxy with a Lua action that asks before a request is passed on.

The action returns every answer but 200 to the caller with its headers and its page.
Source: https://docs.haproxy.org/2.6/configuration.html, `http-request lua`
"""

from typing import ClassVar

from gateway.http.forward_auth.dialects.forwarded import ForwardedRequest


class Haproxy(ForwardedRequest):
    """The action sets the headers."""

    name: ClassVar = "haproxy"
    returns_refusals: ClassVar = True
