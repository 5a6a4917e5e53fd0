"""How long the links of mails last. Keycloak: RealmModel.getActionTokenGeneratedByUserLifespan."""

import re
from datetime import timedelta
from typing import Final

from gateway.domain.realm.realm import Realm

_OF_KIND: Final = "actionTokenGeneratedByUserLifespan."
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)


def user_action_lifespan(realm: Realm, kind: str) -> timedelta:
    """Return how long a link lasts that a user asked for.

    `kind` is what the link is for, such as `verify-email`: the realm attribute of that name says
    it in seconds, otherwise `actionTokenGeneratedByUserLifespan`.
    """
    text = realm.attributes.get(f"{_OF_KIND}{kind}", "")
    if _NUMBER.fullmatch(text) is None or not int(text):
        return realm.token_lifespans.action_token_by_user
    return timedelta(seconds=int(text))
