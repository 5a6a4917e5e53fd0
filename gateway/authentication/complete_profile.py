"""Which users have yet to fill in their profile before a sign-in succeeds.

They lack what the realm's profile demands of users, or hold what it refuses, and may change it.
What it asks of those alone who sign in for a certain client scope is not asked here.
Keycloak: 1.5 (26.7), VERIFY_PROFILE
"""

from gateway.authentication.realm_profile import has_free_attributes, locked_names, profile_rules
from gateway.domain.limits.patterns import evaluate
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.user_profile.merging import demands, values_of
from gateway.domain.user_profile.profile import Viewer
from gateway.domain.users import User


async def has_complete_profile(database: Database, realm: Realm, user: User) -> bool:
    """Tell whether the realm asks nothing more of the user; raises StoreUnavailable."""
    if has_free_attributes(realm):
        return True
    async with database.read() as stores:
        rules = await profile_rules(stores, realm)
    values, locked = values_of(user), locked_names(realm.login)
    asked = await evaluate(
        lambda matches: tuple(demands(rules, values, Viewer.USER, locked, matches))
    )
    return not asked
