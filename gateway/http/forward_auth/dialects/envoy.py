"""Envoy's HTTP service of `ext_authz`: the caller's own request, below the path prefix.

Envoy returns every answer but 200 to the caller with its headers.
Source: https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/filters/http/ext_authz/v3/ext_authz.proto
"""

from typing import ClassVar

from starlette.types import Scope

from gateway.domain.forward_auth import OriginalRequest
from gateway.http.forward_auth.dialects.dialect import Dialect
from gateway.http.forward_auth.original_headers import HOST, PROXY_SERVER, OriginalHeaders


class Envoy(Dialect):
    """Method and Host are the caller's; `path_prefix` is `/.realmgate/guard/envoy`."""

    name: ClassVar = "envoy"
    returns_refusals: ClassVar = True
    takes_paths: ClassVar = True

    @staticmethod
    def original(scope: Scope, headers: OriginalHeaders, scheme: str, path: str) -> OriginalRequest:
        query = scope["query_string"].decode("latin-1")
        uri = f"{path}?{query}" if query else path
        host, server = headers.required(HOST), headers.required(PROXY_SERVER)
        return OriginalRequest(scope["method"], scheme, host, uri, server)
