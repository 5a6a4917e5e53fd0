"""A user as administrators see it, with the attributes that the profile of the realm shows.

If-Match of a change names the digest of this document. Keycloak: GET users/{id}
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import AdminRole, Rights
from gateway.authentication.permanent_lockout import REASON_ATTRIBUTE
from gateway.authentication.realm_profile import profile_document, profile_rules, rules_in
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.user_profile.profile import UserProfile, Viewer
from gateway.domain.users import User
from gateway.representations.user_profiles import write_metadata
from gateway.representations.users import brief_user, full_user

VIEW_USERS: Final = (AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS)
_ONE_TIME_PASSWORD: Final = "otp"  # noqa: S105 - the type of a credential


async def user_document(stores: Stores, realm: Realm, rights: Rights, user: User) -> dict[str, Any]:
    """Return one user, with the caller's rights over it."""
    rules = await profile_rules(stores, realm)
    with_otp = await _having_otp(stores, realm, [user])
    document = full_user(_seen(rules, user), totp=bool(with_otp))
    return {**document, "access": _access(rights)}


async def user_metadata(stores: Stores, realm: Realm) -> dict[str, Any]:
    """Return the profile metadata of existing users."""
    document = await profile_document(stores, realm)
    return write_metadata(document, rules_in(realm, document), realm.login, known=True)


async def listed_users(
    stores: Stores, realm: Realm, users: Sequence[User], *, brief: bool
) -> list[dict[str, Any]]:
    """Return users as lists show them."""
    if brief:
        return [brief_user(user) async for user in in_slices(users)]
    rules = await profile_rules(stores, realm)
    with_otp = await _having_otp(stores, realm, users)
    return [
        full_user(_seen(rules, user), totp=user.id in with_otp) async for user in in_slices(users)
    ]


def unmanaged_attributes(rules: UserProfile, user: User) -> dict[str, list[str]]:
    """Return the attributes that an administrator sees and the profile does not name."""
    shown = rules.shown(user.attributes, Viewer.ADMIN)
    return {name: list(texts) for name, texts in shown.items() if name not in rules.attributes}


def _seen(rules: UserProfile, user: User) -> User:
    """Return the user with those of its attributes that an administrator sees.

    The reason of a permanent lock-out is shown whatever the profile says, as in Keycloak.
    """
    shown = dict(rules.shown(user.attributes, Viewer.ADMIN))
    reason = user.attributes.get(REASON_ATTRIBUTE)
    return replace(
        user, attributes=shown if reason is None else {**shown, REASON_ATTRIBUTE: reason}
    )


async def _having_otp(stores: Stores, realm: Realm, users: Sequence[User]) -> frozenset[str]:
    ids = [user.id for user in users]
    return await stores.users.having_credential(realm.id, ids, _ONE_TIME_PASSWORD)


def _access(rights: Rights) -> dict[str, bool]:
    manage = rights.has(AdminRole.MANAGE_USERS)
    return {
        "manageGroupMembership": manage,
        "resetPassword": manage,
        "view": rights.has(*VIEW_USERS),
        "mapRoles": manage,
        "impersonate": rights.has(AdminRole.IMPERSONATION),
        "manage": manage,
    }
