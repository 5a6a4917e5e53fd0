"""No parameter is larger than a client needs: it is kept while the user signs in. attacks C24.

Keycloak leaves out what is too long. Here the client gets an error: a response without its `state`,
or a token without its `nonce`, would be refused there for no reason that anybody could see.
"""

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.parameters import LONGEST
from gateway.protocol.errors import refused


def check(draft: AuthorizationDraft) -> None:
    """Raise OAuthError for a parameter that is too long."""
    for name, longest in LONGEST.items():
        text = draft.get(name)
        if text is not None and (len(text) > longest or "\0" in text):
            description = f"Invalid parameter: {name}"
            raise refused("invalid_request", description, EventError.INVALID_REQUEST)
