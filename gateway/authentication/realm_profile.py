"""The user profile of a realm: the stored one, or the standard one.

A realm whose attribute `userProfileEnabled` is "false" has no rules for attributes, as in Keycloak
before version 24; in the realm `master` the standard profile requires nothing.
Keycloak: 1.5 password grant (26.7), VERIFY_PROFILE
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from weakref import ref

from gateway.domain.flows import UPDATE_EMAIL
from gateway.domain.limits.caches import SizedCache, cached
from gateway.domain.limits.patterns import PatternMatches, evaluate
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import MASTER, LoginSettings, Realm
from gateway.domain.stored_profile import PROFILE_PROVIDER, rules_of
from gateway.domain.user_profile import (
    EMAIL,
    ROOTS,
    USERNAME,
    AttributeDisplay,
    ProfileAttribute,
    ProfileFinding,
    UnmanagedPolicy,
    UserProfile,
    Viewer,
    Violation,
    demands,
    values_of,
)
from gateway.domain.users import User
from gateway.representations.stored_user_profile import StoredProfile, restored_profile
from gateway.representations.user_profile import standard_user_profile

_NAME: Final = PROFILE_PROVIDER
"""What the document is stored under."""
_EVERY_VIEWER: Final = frozenset(Viewer)
_WITHOUT_DOMAIN: Final = re.compile(r"[^@\s]+")


def _check_address(values: Sequence[str], _matches: PatternMatches) -> ProfileFinding | None:
    """Refuse an address without a domain, which realm files alone may have."""
    wrong = next(filter(_WITHOUT_DOMAIN.fullmatch, values), None)
    return None if wrong is None else ProfileFinding("error-invalid-email", (wrong,))


_FREE: Final = UserProfile(
    {
        name: ProfileAttribute(
            name,
            view=_EVERY_VIEWER,
            edit=_EVERY_VIEWER,
            checks=(_check_address,) if name == EMAIL else (),
            display=AttributeDisplay(f"${{{name}}}"),
        )
        for name in ROOTS
    },
    UnmanagedPolicy.ENABLED,
)
LANGUAGE: Final = ProfileAttribute(
    "locale", multivalued=True, view=_EVERY_VIEWER, edit=_EVERY_VIEWER
)
"""The attribute of realms with internationalization, unless their profile declares it."""
_FREE_WITHOUT_LANGUAGE: Final = replace(_FREE, inactive=frozenset({LANGUAGE.name}))


def locked_names(login: LoginSettings) -> frozenset[str]:
    """Return the attributes of existing users that are never changed, despite the profile."""
    follows = login.registration_email_as_username
    return frozenset() if login.edit_username_allowed and not follows else frozenset({USERNAME})


def own_locked_names(entry: RealmEntry, user: User | None = None) -> frozenset[str]:
    """Return the attributes that users never change in the forms of their profile.

    The address is one where the action UPDATE_EMAIL has links for it, and where it is the user name
    and that is kept. A `user` without an address, who is signing in, may still enter one.
    Keycloak: 16.1 required actions, 17.2 profile; docs/reference/keycloak-sign-in.md
    """
    login = entry.realm.login
    if entry.sign_in.offers(UPDATE_EMAIL):
        is_locked = user is None or bool(user.email and user.email.strip())
    else:
        is_locked = login.registration_email_as_username and not login.edit_username_allowed
    return locked_names(login) | ({EMAIL} if is_locked else frozenset())


async def stored_profile(stores: Stores, realm_id: str) -> StoredProfile | None:
    """Return the stored profile; None where the standard one applies."""
    stored = await stores.documents.find_document(realm_id, DocumentKind.USER_PROFILE, _NAME)
    return None if stored is None else restored_profile(stored)


def expect_profile(stores: Stores, realm: Realm) -> None:
    """Read the profile together with the next statement of the transaction."""
    if not realm.has_free_attributes:
        stores.documents.expect_document(realm.id, DocumentKind.USER_PROFILE, _NAME)


async def store_profile(stores: Stores, realm_id: str, profile: StoredProfile | None) -> None:
    """Store another profile, None for the standard one."""
    place = (realm_id, DocumentKind.USER_PROFILE, _NAME)
    if profile is None:
        await stores.documents.remove_document(*place)
    else:
        await stores.documents.put_document(*place, profile.stored())


async def profile_document(stores: Stores, realm: Realm) -> Mapping[str, Any]:
    """Return the profile as it is shown."""
    stored = await stored_profile(stores, realm.id)
    if stored is None:
        return standard_user_profile(demanding=realm.name != MASTER)
    return stored.document


async def profile_rules(stores: Stores, realm: Realm) -> UserProfile:
    """Return the rules that hold."""
    if realm.has_free_attributes:
        return _free_rules(realm)
    stored = await stored_profile(stores, realm.id)
    return _rules(realm, None if stored is None else rules_of(stored.document))


def _free_rules(realm: Realm) -> UserProfile:
    """Return the rules of a realm without a profile: its language is an unmanaged attribute."""
    return _FREE if realm.localization.enabled else _FREE_WITHOUT_LANGUAGE


def _rules(realm: Realm, own: UserProfile | None) -> UserProfile:
    has_languages = realm.localization.enabled
    if own is None:
        return _standard_rules(realm.name != MASTER, has_languages)
    return _with_locale(own, has_languages=has_languages)


def rules_in(realm: Realm, document: Mapping[str, Any]) -> UserProfile:
    """Return the rules of a document; where users choose a language, that is an attribute too."""
    return _with_locale(rules_of(document), has_languages=realm.localization.enabled)


@cached(256 * 1024)
def _standard_rules(demanding: bool, has_languages: bool) -> UserProfile:  # noqa: FBT001 - cache keys
    rules = rules_of(standard_user_profile(demanding=demanding))
    return _with_locale(rules, has_languages=has_languages)


def _with_locale(rules: UserProfile, *, has_languages: bool) -> UserProfile:
    """Add the language of users, or exclude it where the realm has one language.

    Keycloak: 17.2 profile (26.7: without internationalization `locale` is neither stored nor
    displayed, whatever the policy for unmanaged attributes; a stored value remains)
    """
    if LANGUAGE.name in rules.attributes:
        return rules
    if not has_languages:
        return replace(rules, inactive=frozenset({LANGUAGE.name}))
    return replace(rules, attributes={LANGUAGE.name: LANGUAGE, **rules.attributes})


def requested_profile(entry: RealmEntry, scopes: frozenset[str]) -> UserProfile:
    """Return the rules that hold in a sign-in for these client scopes."""
    if entry.realm.has_free_attributes:
        return _free_rules(entry.realm)
    return _rules(entry.realm, entry.user_profile).requested_with(scopes)


_WITHOUT_VIOLATIONS: Final[SizedCache[tuple[ref[RealmEntry], bytes], bool]] = SizedCache(
    2 * 1024 * 1024, lambda *_: 200
)
"""Digests of client scopes and values in which a state of a realm has found nothing wrong."""


async def profile_violations(
    entry: RealmEntry, user: User, scopes: frozenset[str]
) -> tuple[Violation, ...]:
    """Return what the user has to change in a sign-in for these client scopes.

    It is what the user lacks of what the profile requires of users, and has of what it refuses,
    among the attributes that users may change.
    """
    if entry.realm.has_free_attributes:
        return ()
    values = values_of(user)
    state = hashlib.sha256(repr((sorted(scopes), sorted(values.items()))).encode()).digest()
    if _WITHOUT_VIOLATIONS.get((ref(entry), state)):
        return ()
    rules, locked = requested_profile(entry, scopes), own_locked_names(entry, user)
    found = await evaluate(
        lambda matches: tuple(demands(rules, values, Viewer.USER, locked, matches))
    )
    if not found:
        _WITHOUT_VIOLATIONS.put((ref(entry), state), True)
    return found
