"""The page of authenticators that ask for a key."""

from gateway.authentication.engine.sign_in import SignIn
from gateway.authentication.web_authn import KeyCheck, KeyCredentials
from gateway.domain.authentication import Challenge, FormName, MessageKey


def key_page(
    checks: KeyCheck, keys: KeyCredentials, sign_in: SignIn, message: MessageKey | None = None
) -> Challenge:
    """Return the form, with a new challenge."""
    return Challenge(
        FormName.SECURITY_KEY,
        {"username": sign_in.attempted_username or ""},
        message,
        is_error=message is not None,
        username_fixed=sign_in.account is not None,
        assertion=checks.request(sign_in, keys),
    )
