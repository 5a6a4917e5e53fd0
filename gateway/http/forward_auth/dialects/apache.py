"""Apache with a Lua hook that asks before a request is passed on.

The hook returns every answer but 200 to the caller with its headers and its page.
Source: https://httpd.apache.org/docs/2.4/mod/mod_lua.html
"""

from typing import ClassVar

from gateway.http.forward_auth.dialects.forwarded import ForwardedRequest


class Apache(ForwardedRequest):
    """The hook sets the headers."""

    name: ClassVar = "apache"
    returns_refusals: ClassVar = True
