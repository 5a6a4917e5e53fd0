"""Why a user cannot sign in, or what pages ask first: for operators, never for callers.

The rules are those of the sign-in: the state of realm and account (`validity`), lock-outs, pending
required actions and the user profile (`required_action`, `realm_profile`), and the flow of the
realm. Not looked at are flows of clients, and attributes that the profile requires for scopes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from gateway.authentication.accounts import Account
from gateway.authentication.brute_force_protection import is_locked_for_good
from gateway.authentication.engine.flow_runner import is_set_up_later
from gateway.authentication.engine.required_action import find_pending_action, has_expired_password
from gateway.authentication.realm_profile import profile_violations
from gateway.authentication.validity import (
    NoLongerValid,
    may_be_locked_out,
    require_enabled_realm,
    require_usable_user,
)
from gateway.domain.flows import (
    DENY,
    KIND_OF,
    UPDATE_PASSWORD,
    VERIFY_PROFILE,
    FlowStep,
    Requirement,
    SignInFlow,
)
from gateway.domain.ports.login_failures import LoginFailures
from gateway.domain.ports.lookups import RealmEntry, UserEntry
from gateway.domain.realm import Realm
from gateway.domain.roles import EffectiveRoles
from gateway.domain.user_profile import EMAIL, FIRST_NAME, LAST_NAME, Violation
from gateway.domain.users import User

_ATTRIBUTES: Final = {EMAIL: "e-mail", FIRST_NAME: "first name", LAST_NAME: "last name"}
_MISSING: Final = "error-user-attribute-required"


class Effect(StrEnum):
    """What an obstacle does to a sign-in of one kind."""

    NONE = "none"
    ASKED = "asked"
    """The pages ask for it, and the sign-in goes on."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class SignInObstacle:
    """One reason, with its effect on pages and on the password grant."""

    code: str
    text: str
    on_pages: Effect = Effect.REFUSED
    password_grant: Effect = Effect.REFUSED


async def list_sign_in_obstacles(
    entry: RealmEntry, account: Account, failures: LoginFailures, now: datetime
) -> tuple[SignInObstacle, ...]:
    """Return every obstacle; `account` has its credentials. Raises StoreUnavailable."""
    user = account.user
    if user is None:
        return (SignInObstacle("unknown", "there is no such user"),)
    found = [*_of_account(entry.realm, user, failures, now)]
    if user.service_account_client is not None:
        return tuple(found)
    found += _of_credentials(entry, account)
    return (*found, *await _of_actions(entry, account, now))


def _of_account(
    realm: Realm, user: User, failures: LoginFailures, now: datetime
) -> Iterator[SignInObstacle]:
    try:
        require_enabled_realm(realm)
    except NoLongerValid:
        yield SignInObstacle("realm-disabled", f"the realm {realm.name} is disabled")
    if user.service_account_client is not None:
        text = "the account of a client, which signs in with the credentials of the client"
        yield SignInObstacle("service-account", text)
    counts_failures = may_be_locked_out(realm, user)
    if is_locked_for_good(user) or (counts_failures and failures.permanent):
        yield SignInObstacle("locked", "locked out until it is unlocked")
        return
    try:
        require_usable_user(UserEntry(user, EffectiveRoles()))
    except NoLongerValid:
        yield SignInObstacle("disabled", "disabled")
    if counts_failures and failures.is_locked(now):
        yield SignInObstacle("locked", "locked out for some time")


def _of_credentials(entry: RealmEntry, account: Account) -> Iterator[SignInObstacle]:
    """Yield an obstacle where the user lacks credentials that the flows of the realm ask for."""
    realm, rules = entry.realm, entry.sign_in
    passkeys = bool(realm.web_authn_passwordless.passkeys_enabled)
    held = frozenset(one.type for one in account.credentials or ())
    on_pages = _effect_of_flow(rules.browser, held, passkeys=passkeys)
    grant = _effect_of_flow(rules.direct_grant, held, passkeys=False)
    flow = rules.direct_grant if on_pages is Effect.NONE else rules.browser
    if on_pages is Effect.NONE and grant is Effect.NONE:
        return
    if flow is None:
        yield SignInObstacle("no-flow", "the flow of the realm cannot be used", on_pages, grant)
        return
    asked = sorted(_credentials_of(flow) - held)
    names = f", which asks for {' or '.join(asked)}" if asked else ""
    code, text = "no-credential", f"no credential that completes the flow {flow.alias!r}{names}"
    if on_pages is Effect.ASKED:
        code = "credential-to-set-up"
        text = f"no {' or '.join(asked)}: the flow {flow.alias!r} requires it"
    yield SignInObstacle(code, text, on_pages, grant)


def _credentials_of(flow: SignInFlow) -> set[str]:
    """Return the types of credentials that a flow asks for, conditional sub-flows apart."""
    found: set[str] = set()
    for step in _counted_steps(flow):
        kind = KIND_OF.get(step.authenticator)
        if step.flow is not None:
            found |= _credentials_of(step.flow)
        elif kind is not None and kind.credential is not None:
            found.add(kind.credential)
    return found


def _counted_steps(flow: SignInFlow) -> list[FlowStep]:
    return [step for step in flow.steps if step.requirement is not Requirement.CONDITIONAL]


_WORST_LAST: Final = (Effect.NONE, Effect.ASKED, Effect.REFUSED)


def _effect_of_flow(flow: SignInFlow | None, held: frozenset[str], *, passkeys: bool) -> Effect:
    """Return what a flow comes to for a user with credentials of the types `held`.

    Conditional sub-flows are not counted beside other steps: most ask for what is set up. Alone,
    one of them has to succeed. See `FlowRun`.
    """
    if flow is None:
        return Effect.REFUSED
    counted = _counted_steps(flow)
    effects = [_effect_of_step(step, held, passkeys=passkeys) for step in counted or flow.steps]
    if not counted:
        return Effect.NONE if Effect.NONE in effects else Effect.REFUSED
    choose = min if flow.has_alternatives else max
    return choose(effects, key=_WORST_LAST.index)


def _effect_of_step(step: FlowStep, held: frozenset[str], *, passkeys: bool) -> Effect:
    if step.flow is not None:
        return _effect_of_flow(step.flow, held, passkeys=passkeys)
    kind = KIND_OF.get(step.authenticator)
    if kind is None or kind.id in _NO_WAYS:
        return Effect.REFUSED
    if kind.credential is None or kind.credential in held:
        return Effect.NONE
    if kind.accepts_passkeys and passkeys and _PASSKEY in held:
        return Effect.NONE
    return Effect.ASKED if is_set_up_later(step) else Effect.REFUSED


_PASSKEY: Final = "webauthn-passwordless"
_NO_WAYS: Final = frozenset({"auth-cookie", DENY})
"""A cookie is of an earlier sign-in."""


async def _of_actions(entry: RealmEntry, account: Account, now: datetime) -> list[SignInObstacle]:
    user = account.user
    if user is None:
        return []
    is_old = has_expired_password(entry, account, now)
    actions = dict.fromkeys((*user.required_actions, *([UPDATE_PASSWORD] if is_old else ())))
    due = replace(user, required_actions=tuple(actions))
    on_pages = await _pending(entry, due, has_pages=True)
    without = await _pending(entry, due, has_pages=False)
    found = []
    for alias in dict.fromkeys((*on_pages, *without)):
        effects = (
            Effect.ASKED if alias in on_pages else Effect.NONE,
            Effect.REFUSED if alias in without else Effect.NONE,
        )
        if alias == VERIFY_PROFILE:
            found += [
                SignInObstacle("profile", _of_profile(violation), *effects)
                for violation in await profile_violations(entry, user, frozenset())
            ]
        else:
            code, text = _of_action(account, alias, is_old=is_old)
            found.append(SignInObstacle(code, text, *effects))
    return found


async def _pending(entry: RealmEntry, user: User, *, has_pages: bool) -> tuple[str, ...]:
    """Return the actions in the order in which a sign-in asks for them."""
    found: list[str] = []
    while True:
        ignored = frozenset(found)
        alias = await find_pending_action(
            entry, user, frozenset(), has_pages=has_pages, ignored=ignored
        )
        if alias is None or alias in ignored:
            break
        found.append(alias)
    if VERIFY_PROFILE not in found and VERIFY_PROFILE not in entry.sign_in.off:
        # Behind an action that is pending whatever is ignored, such as VERIFY_EMAIL.
        found += [VERIFY_PROFILE] if await profile_violations(entry, user, frozenset()) else []
    return tuple(found)


def _of_action(account: Account, alias: str, *, is_old: bool) -> tuple[str, str]:
    if alias == UPDATE_PASSWORD and is_old:
        return "password-expired", "the password has expired: a new one has to be set"
    if alias == UPDATE_PASSWORD and account.password is not None:
        return "temporary-password", "temporary password: a new one has to be set"
    return "required-action", f"required action {alias}"


def _of_profile(violation: Violation) -> str:
    name = _ATTRIBUTES.get(violation.field, violation.field)
    if violation.message == _MISSING:
        return f"no {name}: the profile requires it"
    return f"{name}: the profile refuses it ({violation.message})"
