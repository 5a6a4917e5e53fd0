"""Which users have yet to fill in their profile before a sign-in succeeds.

Keycloak's default profile demands an e-mail address and both names of every user, but of those of
the realm `master`. A realm whose attribute `userProfileEnabled` is "false" demands nothing: so it
was called in Keycloak before version 24, which had that choice.

Keycloak: 1.5 (26.7)
"""

from typing import Final

from gateway.domain.realm import MASTER, Realm
from gateway.domain.users import User

_SWITCH: Final = "userProfileEnabled"


def has_complete_profile(realm: Realm, user: User) -> bool:
    """Tell whether the realm asks nothing more of the user."""
    if realm.name == MASTER or realm.attributes.get(_SWITCH) == "false":
        return True
    demanded = (user.email, user.first_name, user.last_name)
    return all(text is not None and text.strip() for text in demanded)
