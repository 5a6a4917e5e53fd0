"""form_post: a page of the gateway posts the parameters to the redirect URI.

Spec: OAuth 2.0 Form Post Response Mode §2
"""

from collections.abc import Mapping

from gateway.protocol.response_modes.response import FormPost


def deliver(redirect_uri: str, parameters: Mapping[str, str]) -> FormPost:
    """Return the form; a fragment of the redirect URI is left out."""
    return FormPost(redirect_uri.partition("#")[0], parameters)
