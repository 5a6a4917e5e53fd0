"""The headers by which several proxies report the caller's request."""

from starlette.types import Scope

from gateway.domain.forward_auth import OriginalRequest
from gateway.http.forward_auth.dialects.dialect import Dialect
from gateway.http.forward_auth.original_headers import (
    FORWARDED_HOST,
    FORWARDED_METHOD,
    FORWARDED_URI,
    PROXY_SERVER,
    OriginalHeaders,
)


class ForwardedRequest(Dialect):
    """`X-Forwarded-Method`, `X-Forwarded-Uri`, `X-Forwarded-Host`: the proxy overwrites them.

    `X-Realmgate-Server` is the host that the proxy is configured for, and its port.
    """

    @staticmethod
    def original(
        scope: Scope,  # noqa: ARG004 - the headers have the caller's method
        headers: OriginalHeaders,
        scheme: str,
        path: str,  # noqa: ARG004 - the headers have the caller's path
    ) -> OriginalRequest:
        return OriginalRequest(
            headers.required(FORWARDED_METHOD),
            scheme,
            headers.required(FORWARDED_HOST),
            headers.required(FORWARDED_URI),
            headers.required(PROXY_SERVER),
        )
