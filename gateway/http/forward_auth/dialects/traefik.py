"""Traefik's ForwardAuth.

Traefik returns every answer but 2xx to the caller with its headers.
Source: https://doc.traefik.io/traefik/middlewares/http/forwardauth/
"""

from typing import ClassVar

from gateway.http.forward_auth.dialects.forwarded import ForwardedRequest


class Traefik(ForwardedRequest):
    """`trustForwardHeader` must be off, as it is by default."""

    name: ClassVar = "traefik"
    returns_refusals: ClassVar = True
