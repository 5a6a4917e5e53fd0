"""The secret of the forms of the console: only pages that this user was shown can send them.

It is sealed for the session of the browser, so it ends with that. attacks: D14
"""

from typing import Final

from gateway.domain.errors import SecretUnreadable
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.protocol.sign_in_results.identity_cookie import Identity

FIELD: Final = "stateChecker"
_LONGEST: Final = 1024
_CONTENT: Final = "account"


class FormTokens:
    """Issues and checks the secrets."""

    def __init__(self, secrets: SecretsAtRest) -> None:
        self._secrets = secrets

    def issue(self, request: BrowserRequest, identity: Identity) -> str:
        """Return the value of the hidden field `stateChecker`."""
        return self._secrets.seal(_CONTENT, _context(request, identity))

    def holds(self, request: BrowserRequest, identity: Identity) -> bool:
        """Tell whether the form of the request carries the secret of this session."""
        sent = request.form.get(FIELD, "")
        if not sent or len(sent) > _LONGEST:
            return False
        try:
            self._secrets.unseal(sent, _context(request, identity))
        except SecretUnreadable:
            return False
        return True


def _context(request: BrowserRequest, identity: Identity) -> str:
    realm = request.protocol.realm.realm.id
    return f"account:{realm}:{identity.session.id}:{identity.state_checker}"
