"""query: the parameters stand in the query of the redirect URI, behind its own.

Spec: RFC 6749 §3.1.2 (a query of the redirect URI is retained)
"""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from gateway.protocol.response_modes.response import Redirect


def deliver(redirect_uri: str, parameters: Mapping[str, str]) -> Redirect:
    """Return the redirect; a fragment of the redirect URI is left out."""
    uri = redirect_uri.partition("#")[0]
    separator = "&" if "?" in uri else "?"
    if uri.endswith(("?", "&")):
        separator = ""
    return Redirect(f"{uri}{separator}{urlencode(parameters, quote_via=quote)}")
