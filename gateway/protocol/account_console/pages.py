"""The pages of the account console, by their paths below `/realms/{realm}/account`.

A sign-in leads to one of these and to no other address. Paths are Keycloak's where it has the page.
"""

from enum import StrEnum


class AccountPage(StrEnum):
    """A page; the value is its path, relative to `/realms/{realm}/account/`."""

    PERSONAL_INFO = ""
    SIGNING_IN = "account-security/signing-in"
    DEVICE_ACTIVITY = "account-security/device-activity"
    CERTIFICATES = "account-security/certificates"
    APPLICATIONS = "applications"
    GROUPS = "groups"


def account_page(path: str | None) -> AccountPage | None:
    """Return the page with that path, None for any other text."""
    return AccountPage(path) if path in set(AccountPage) else None
