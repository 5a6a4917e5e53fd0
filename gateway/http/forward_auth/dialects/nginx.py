"""nginx's `auth_request`: the request line in `X-Original-Request`.

The default server of a listener gets every request whose host no other server has, so nginx reports
in `X-Realmgate-Server` which server is asking: `$server_name`, the first name of the server, and
`$server_port`.
nginx passes on 401 and 403 and the header `WWW-Authenticate`, and makes 500 of every other answer.
Source: https://nginx.org/en/docs/http/ngx_http_auth_request_module.html
"""

from typing import ClassVar, Final

from starlette.types import Scope

from gateway.domain.forward_auth import AmbiguousTarget, OriginalRequest
from gateway.http.forward_auth.dialects.dialect import Dialect
from gateway.http.forward_auth.original_headers import (
    FORWARDED_HOST,
    ORIGINAL_REQUEST,
    PROXY_SERVER,
    OriginalHeaders,
)

_PARTS: Final = 3


class Nginx(Dialect):
    """The request line shows an absolute form, which nginx's own variables hide."""

    name: ClassVar = "nginx"

    @staticmethod
    def original(
        scope: Scope,  # noqa: ARG004 - nginx asks by GET, whatever the caller's method
        headers: OriginalHeaders,
        scheme: str,
        path: str,  # noqa: ARG004 - it is in the request line
    ) -> OriginalRequest:
        parts = headers.required(ORIGINAL_REQUEST).split(" ")
        if len(parts) != _PARTS:
            raise AmbiguousTarget("the request line has no three parts")
        return OriginalRequest(
            parts[0],
            scheme,
            headers.required(FORWARDED_HOST),
            parts[1],
            headers.required(PROXY_SERVER),
        )
