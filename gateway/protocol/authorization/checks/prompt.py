"""`prompt` names what the sign-in has to show; unknown words are left out, as in Keycloak.

`none` stands alone: nothing may be shown, so nothing else can be asked for. `create` shows the page
of registration, where the realm permits users to register.
Spec: OpenID Connect Core §3.1.2.1; Keycloak: 12.10
"""

from typing import Final

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.errors import PageError, PageMessage
from gateway.protocol.authorization.request import Prompt
from gateway.protocol.errors import refused

PROMPTS: Final = (Prompt.NONE, Prompt.LOGIN, Prompt.CONSENT)
"""Those that every realm knows, in the order of discovery."""


def check(draft: AuthorizationDraft) -> None:
    """Keep the words that are known; raises OAuthError."""
    words = frozenset((draft.get("prompt") or "").split())
    allowed = draft.request.realm.realm.login.registration_allowed
    if Prompt.CREATE in words and not allowed and not draft.is_push:
        message, error = PageMessage.registrationNotAllowedMessage, EventError.INVALID_REQUEST
        raise PageError(message, event_error=error, error="registration_disabled")
    if Prompt.NONE in words and len(words) > 1:
        text = "Invalid parameter: prompt"
        raise refused("invalid_request", text, EventError.INVALID_REQUEST)
    draft.prompt = frozenset(each for each in (*PROMPTS, Prompt.CREATE) if each in words)
