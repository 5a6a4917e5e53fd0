"""fragment: the parameters are the fragment, which browsers send to no server.

Spec: OAuth 2.0 Multiple Response Type Encoding Practices §2.1
"""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from gateway.protocol.response_modes.response import Redirect


def deliver(redirect_uri: str, parameters: Mapping[str, str]) -> Redirect:
    """Return the redirect; the parameters replace a fragment of the redirect URI."""
    uri = redirect_uri.partition("#")[0]
    return Redirect(f"{uri}#{urlencode(parameters, quote_via=quote)}")
