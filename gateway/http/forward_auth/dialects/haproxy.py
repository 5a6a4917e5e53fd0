"""HAProxy with a Lua action that asks before a request is passed on.

The action decides what the caller gets, so a sign-in is its redirect to `X-Realmgate-Sign-In`.
Source: https://docs.haproxy.org/2.6/configuration.html, `http-request lua`
"""

from typing import ClassVar

from gateway.http.forward_auth.dialects.forwarded import ForwardedRequest


class Haproxy(ForwardedRequest):
    """The action sets the headers."""

    name: ClassVar = "haproxy"
