"""Settings of a realm that exclude each other: what is switched on switches the other off.

Two users of one address can neither sign in by it nor have it for a user name. Where all of it is
asked for at once, addresses may be shared.
Keycloak: the setters of a realm's registrationEmailAsUsername, loginWithEmailAllowed and
duplicateEmailsAllowed, in the order in which an update calls them
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from gateway.domain.realm import Realm

_SHARED: Final = "duplicateEmailsAllowed"
_SIGN_IN: Final = "loginWithEmailAllowed"
_NAME: Final = "registrationEmailAsUsername"


def with_one_use_of_addresses(realm: Realm, given: Collection[str]) -> Realm:
    """Return the realm without what the settings named in `given` exclude."""
    login = realm.login
    if _SHARED in given and login.duplicate_emails_allowed:
        login = replace(login, login_with_email_allowed=False, registration_email_as_username=False)
    elif (_SIGN_IN in given and login.login_with_email_allowed) or (
        _NAME in given and login.registration_email_as_username
    ):
        login = replace(login, duplicate_emails_allowed=False)
    return realm if login == realm.login else replace(realm, login=login)
