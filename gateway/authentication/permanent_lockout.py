"""Permanent lockout: accounts disabled in SQL with a reason, so that a loss of Redis opens none.

Keycloak: 4.1 step 7 (permanentLockout)
"""

from dataclasses import replace
from typing import Final

from gateway.domain.ports.invalidation import user_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.users import User

REASON_ATTRIBUTE: Final = "disabledReason"
REASON: Final = "permanentLockout"


def is_locked_for_good(user: User) -> bool:
    """Tell whether the guard, and not an administrator, has disabled the account."""
    return not user.enabled and REASON in user.attributes.get(REASON_ATTRIBUTE, ())


async def lock_for_good(stores: Stores, realm_id: str, user_id: str) -> None:
    """Disable the account, unless it is gone or disabled already."""
    user = await stores.users.get_for_update(realm_id, user_id)
    if user is not None and user.enabled:
        attributes = {**user.attributes, REASON_ATTRIBUTE: (REASON,)}
        await stores.users.replace(replace(user, enabled=False, attributes=attributes))
        await stores.change_log.record([user_topic(realm_id, user_id)])


def without_reason(user: User) -> dict[str, tuple[str, ...]]:
    """Return the attributes of a user that is enabled again."""
    return {name: texts for name, texts in user.attributes.items() if name != REASON_ATTRIBUTE}
