"""Passkeys on pages that ask for a name or a password, where the realm has them enabled.

Keycloak: WebAuthnConditionalUIAuthenticator, UsernamePasswordForm (26.7)
"""

from typing import Final

from gateway.authentication.engine.sign_in import Form, Result, SignIn
from gateway.authentication.web_authn.assertions import PASSKEYS, Again, KeyCheck
from gateway.domain.authentication import AssertionRequest
from gateway.domain.web_authn import PASSKEY

_SUBMITTED: Final = ("authenticatorData", "error")


class Passkeys:
    """Offers passkeys on the page of another form."""

    def __init__(self, checks: KeyCheck) -> None:
        self._checks = checks

    def offer(self, sign_in: SignIn) -> AssertionRequest | None:
        """Return the passkey request of a page with another form.

        None where passkeys are off, or the user who has proven something has none. For a user who
        is only named the page reveals nothing: it has decoys.
        """
        if not _are_enabled(sign_in):
            return None
        is_proven = sign_in.account is not None and not sign_in.is_only_named
        if is_proven and not PASSKEYS.of(sign_in.account):
            return None
        return self._checks.request(sign_in, PASSKEYS)

    def are_submitted(self, sign_in: SignIn, form: Form) -> bool:
        """Tell whether the form is that of a passkey."""
        return _are_enabled(sign_in) and any(name in form for name in _SUBMITTED)

    async def submit(self, sign_in: SignIn, form: Form, again: Again) -> Result:
        """Return the check of the passkey; raises StoreUnavailable."""
        return await self._checks.submit(sign_in, PASSKEYS, form, again)

    def have_signed_in(self, sign_in: SignIn) -> bool:
        """Tell whether the user has signed in with a passkey, in place of a password."""
        return _are_enabled(sign_in) and PASSKEY in sign_in.used


def _are_enabled(sign_in: SignIn) -> bool:
    return bool(sign_in.realm.web_authn_passwordless.passkeys_enabled)
