"""Required actions that a user may have to perform before a sign-in succeeds, by alias.

Keycloak: the built-in required actions, 26.7
"""

from typing import Final

UPDATE_PASSWORD: Final = "UPDATE_PASSWORD"  # noqa: S105 - the name of a required action
VERIFY_EMAIL: Final = "VERIFY_EMAIL"
VERIFY_PROFILE: Final = "VERIFY_PROFILE"
REQUIRED_ACTIONS: Final = frozenset(
    {
        "CONFIGURE_RECOVERY_AUTHN_CODES",
        "CONFIGURE_TOTP",
        "TERMS_AND_CONDITIONS",
        "UPDATE_EMAIL",
        UPDATE_PASSWORD,
        "UPDATE_PROFILE",
        VERIFY_EMAIL,
        VERIFY_PROFILE,
        "delete_account",
        "delete_credential",
        "idp_link",
        "update_user_locale",
        "webauthn-register",
        "webauthn-register-passwordless",
    }
)
