"""A new or changed user as an administrator's document describes it, before it is stored.

The profile of the realm validates the values, the realm's settings say whether a name may change;
unknown required actions are ignored. Keycloak: 7.2 (POST users, PUT users/{id})
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import uuid4

from gateway.admin.access import (
    InvalidRequest,
)
from gateway.authentication import permanent_lockout
from gateway.authentication.new_accounts.new_users import default_actions
from gateway.authentication.realm_profile import locked_names, profile_rules
from gateway.domain.flows import REQUIRED_ACTIONS, UPDATE_PASSWORD
from gateway.domain.limits.patterns import PatternMatches
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.user_profile.findings import Violation
from gateway.domain.user_profile.merging import Sent, cleaned, merged, values_of, with_values
from gateway.domain.user_profile.profile import EMAIL, USERNAME, UserProfile, Values
from gateway.domain.users import User
from gateway.representations.user_profiles import ProfileViolated
from gateway.representations.users import NewPassword, UserInput, require_storable

_NO_NAME: Final = "User name is missing"
_REQUIRED: Final = "error-user-attribute-required"


async def new_user(
    stores: Stores, realm: Realm, given: UserInput, now: datetime, matches: PatternMatches
) -> User:
    """Return the user to create; raises InvalidRequest, InvalidInput and MatchesPending."""
    blank = User(str(uuid4()), realm.id, "", enabled=False, created_at=now)
    values = given.sent.values
    if realm.login.registration_email_as_username:
        locked = frozenset({USERNAME})
        if not cleaned(values.get(EMAIL, ())) and cleaned(values.get(USERNAME, ())):
            raise ProfileViolated([Violation(EMAIL, _REQUIRED, (EMAIL,))])
    else:
        locked = frozenset()
    rules = await profile_rules(stores, realm)
    made = _validated(rules, given.sent, None, locked, matches)
    name = EMAIL if locked else USERNAME
    if name not in made:
        raise InvalidRequest(_NO_NAME)
    user = with_values(blank, {**made, USERNAME: made[name]})
    require_storable(user)
    due = await default_actions(stores, realm.id)
    return replace(
        user,
        enabled=given.enabled is True,
        email_verified=given.email_verified is True,
        created_at=given.created_at or now,
        required_actions=_actions((*due, *(given.required_actions or ())), due, given),
    )


async def changed_user(
    stores: Stores, realm: Realm, given: UserInput, before: User, matches: PatternMatches
) -> User:
    """Return the changed user; raises InvalidRequest, InvalidInput and MatchesPending."""
    name = given.sent.values.get(USERNAME)
    if name is not None and not cleaned(name):
        raise InvalidRequest(_NO_NAME)
    follows = realm.login.registration_email_as_username
    values = {
        name: texts
        for name, texts in given.sent.values.items()
        if not (follows and name == USERNAME)
    }
    sent = Sent(values, given.sent.whole)
    rules = await profile_rules(stores, realm)
    made = _validated(rules, sent, values_of(before), locked_names(realm.login), matches)
    user = with_values(before, made)
    if follows and user.email != before.email:
        if user.email is None:
            raise InvalidRequest(_NO_NAME)
        user = replace(user, username=user.email)
    if user != before:
        require_storable(user)
    return _switched(user, before, given)


def _validated(
    rules: UserProfile,
    sent: Sent,
    known: Values | None,
    locked: frozenset[str],
    matches: PatternMatches,
) -> Values:
    made = merged(rules, sent, known, locked, matches)
    matches.require_decided()
    if made.violations:
        raise ProfileViolated(made.violations)
    return made.values


def _switched(user: User, before: User, given: UserInput) -> User:
    """Return the user with the flags and actions that were sent; what was not sent stays."""
    if given.enabled is True:
        user = replace(user, attributes=permanent_lockout.without_reason(user))
    known = before.required_actions
    asked = known if given.required_actions is None else given.required_actions
    return replace(
        user,
        enabled=_or(given.enabled, before.enabled),
        email_verified=_or(given.email_verified, before.email_verified),
        required_actions=_actions(asked, known, given),
    )


def _or(given: bool | None, before: bool) -> bool:  # noqa: FBT001 - values to choose from
    return before if given is None else given


def _actions(asked: Sequence[str], known: Sequence[str], given: UserInput) -> tuple[str, ...]:
    """Return the required actions; unknown ones only if the user had them before."""
    actions = [name for name in asked if name in REQUIRED_ACTIONS or name in known]
    if any(isinstance(one, NewPassword) and one.temporary for one in given.credentials):
        actions.append(UPDATE_PASSWORD)
    return tuple(dict.fromkeys(actions))
