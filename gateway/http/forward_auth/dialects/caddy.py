"""Caddy's `forward_auth`.

Caddy returns every answer but 2xx to the caller with its headers.
Source: https://caddyserver.com/docs/caddyfile/directives/forward_auth
"""

from typing import ClassVar

from gateway.http.forward_auth.dialects.forwarded import ForwardedRequest


class Caddy(ForwardedRequest):
    """The directive sets `X-Forwarded-Method` and `X-Forwarded-Uri` by itself."""

    name: ClassVar = "caddy"
    returns_refusals: ClassVar = True
