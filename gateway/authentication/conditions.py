"""The conditions of flows, with their table.

Keycloak: conditional authenticators (26.7), ConditionalLoaAuthenticator
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from gateway.authentication.accounts import Accounts
from gateway.authentication.engine.levels import (
    LEVELS_NOTE,
    LOWEST_LEVEL,
    REAUTHENTICATING,
    is_reached,
    level_in,
    max_age_in,
    parse_levels,
    render_levels,
    requested_level,
)
from gateway.authentication.engine.sign_in import (
    Authenticator,
    Config,
    FlowCondition,
    SignInAttempt,
    is_set,
)
from gateway.authentication.errors import InvalidUserCredentials
from gateway.authentication.services import AuthenticationServices
from gateway.domain.events import EventError
from gateway.domain.flows import (
    CLIENT_SCOPE,
    CREDENTIAL_USED,
    LEVEL,
    SUB_FLOW_EXECUTED,
    USER_ATTRIBUTE,
    USER_CONFIGURED,
    USER_ROLE,
    Requirement,
    SignInFlow,
)
from gateway.domain.limits.patterns import LONGEST_FOR_PATTERN, Verdict, evaluate
from gateway.domain.ports.lookups import Directory
from gateway.domain.roles import EffectiveRoles
from gateway.domain.user_profile import values_of
from gateway.domain.users import User


class RequestedClientScope(FlowCondition):
    """`conditional-client-scope`: the request asks for a client scope.

    Matches requests with the client scope `client_scope`; `negate` inverts the result.
    """

    id: ClassVar = CLIENT_SCOPE

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        """Return whether the scope is one of the defaults or was requested."""
        del flow
        name = config.get("client_scope")
        return bool(name) and (name in sign_in.scopes) != is_set(config, "negate")


_SEPARATOR: Final = "##"


class CredentialUsed(FlowCondition):
    """`conditional-credential`.

    Certain kinds of credentials were used in this sign-in, or were not.

    Matches where any of `credentials` was used and `included` is set, or none was and it is not.

    The kinds are separated by `##`.
    """

    id: ClassVar = CREDENTIAL_USED

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        del flow
        kinds = config.get("credentials", "").split(_SEPARATOR)
        return (not sign_in.used.isdisjoint(kinds)) == is_set(config, "included")


class LevelOfAuthentication(FlowCondition):
    """`conditional-level-of-authentication`: a level is required that is not reached yet.

    Matches where the level `loa-condition-level` is required.

    It was reached before where that was not longer than `loa-max-age` seconds ago. The first level
    of a sign-in is always required.

    Keycloak: ConditionalLoaAuthenticator (26.7)
    """

    id: ClassVar = LEVEL

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        """Return whether the level is required and has to be reached now."""
        del flow
        current = sign_in.level
        if current is None or current < LOWEST_LEVEL:
            return True
        level = level_in(config) or LOWEST_LEVEL
        if await requested_level(sign_in, self._accounts) < level:
            return False
        if not _level_was_reached(sign_in, config, level):
            return True
        if current < level:
            sign_in.level = level
        return False

    def succeeded(self, sign_in: SignInAttempt, config: Config) -> None:
        """Note that the level was reached, for this sign-in only where the level has no age."""
        level = level_in(config)
        if level is None:
            return
        sign_in.level = level
        if max_age_in(config):
            levels = parse_levels(sign_in.notes.get(LEVELS_NOTE))
            sign_in.note(LEVELS_NOTE, render_levels({**levels, level: sign_in.now}))


def _level_was_reached(sign_in: SignInAttempt, config: Config, level: int) -> bool:
    if REAUTHENTICATING in sign_in.notes:
        return False
    levels = parse_levels(sign_in.notes.get(LEVELS_NOTE))
    return is_reached(levels, level, max_age_in(config), sign_in.now)


class SubFlowExecuted(FlowCondition):
    """`conditional-sub-flow-executed`: an earlier sub-flow succeeded, or did not.

    Matches where the sub-flow `flow_to_check` has the result `check_result`.
    """

    id: ClassVar = SUB_FLOW_EXECUTED

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        del flow
        succeeded = config.get("flow_to_check") in sign_in.completed
        return succeeded != (config.get("check_result") == "not-executed")


class UserAttribute(FlowCondition):
    """`conditional-user-attribute`: an attribute of the user has a value.

    Matches users whose attribute `attribute_name` has the value `attribute_expected_value`.

    With `regex` the value is a pattern; one that takes long refuses the sign-in, and so does a
    value of the attribute that is too long to be compared with it. With `include_group_attributes`
    those of groups count as well; `not` turns it round.
    """

    id: ClassVar = USER_ATTRIBUTE

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        """Return whether it has; False before a user is named."""
        del flow
        name = config.get("attribute_name", "")
        expected = config.get("attribute_expected_value", "")
        user = sign_in.found_user
        if sign_in.account is None:
            return False
        values = [] if user is None else list(values_of(user).get(name, ()))
        if user is not None and is_set(config, "include_group_attributes"):
            values += await self._of_groups(user, name)
        if not is_set(config, "regex"):
            return (expected in values) != is_set(config, "not")
        verdicts = await evaluate(
            lambda matches: [matches.verdict(expected, value) for value in values]
        )
        too_long = any(len(value) > LONGEST_FOR_PATTERN for value in values)
        if too_long or Verdict.TOO_COSTLY in verdicts:
            raise InvalidUserCredentials(
                EventError.INVALID_USER_CREDENTIALS, None if user is None else user.id
            )
        return (Verdict.MATCHES in verdicts) != is_set(config, "not")

    async def _of_groups(self, user: User, name: str) -> Iterable[str]:
        entry = await self._directory.user(user.realm_id, user.id)
        groups = () if entry is None else entry.group_attributes
        return [value for attributes in groups for value in attributes.get(name, ())]


class UserConfigured(FlowCondition):
    """`conditional-user-configured`: the user has set up the credentials that the flow asks for.

    Matches where all required authenticators of the flow, or any alternative, are set up.
    """

    id: ClassVar = USER_CONFIGURED

    def __init__(self, accounts: Accounts, authenticators: Mapping[str, Authenticator]) -> None:
        self._accounts = accounts
        self._authenticators = authenticators

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        """Return whether they are; sub-flows do not count."""
        del config
        if sign_in.account is None or sign_in.account.user is None:
            return False
        account = sign_in.account
        if account.credentials is None:
            account = sign_in.account = await self._accounts.load_credentials(account)
        steps = [step for step in flow.steps if step.flow is None]
        acting = [self._authenticators[step.authenticator] for step in steps]
        found = [authenticator.is_configured(account) for authenticator in acting]
        if any(step.requirement is Requirement.ALTERNATIVE for step in steps):
            return any(found)
        return all(found)


class UserRole(FlowCondition):
    """`conditional-user-role`: the user has a role, composites and groups included.

    Matches users with the role `condUserRole`: `role`, or `client.role`.

    `negate` inverts the result. A name that no user has is that of a user without roles: the next
    page reveals no user (attacks: D10).
    """

    id: ClassVar = USER_ROLE

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def matches(self, sign_in: SignInAttempt, config: Config, flow: SignInFlow) -> bool:
        """Return whether the user has it; False before a user is named."""
        del flow
        name, account = config.get("condUserRole"), sign_in.account
        if not name or account is None:
            return False
        entry = await self._directory.user(sign_in.realm.id, account.guarded_as)
        has_role = entry is not None and _has_role(entry.roles, name)
        return has_role != is_set(config, "negate")


def _has_role(roles: EffectiveRoles, name: str) -> bool:
    if name in roles.realm:
        return True
    return any(name == f"{client}.{role}" for client, names in roles.clients for role in names)


def conditions(
    services: AuthenticationServices, authenticators: Mapping[str, Authenticator]
) -> Mapping[str, FlowCondition]:
    """Return every condition that acts, by id."""
    every: tuple[FlowCondition, ...] = (
        UserConfigured(services.accounts, authenticators),
        UserRole(services.directory),
        UserAttribute(services.directory),
        RequestedClientScope(),
        CredentialUsed(),
        SubFlowExecuted(),
        LevelOfAuthentication(services.accounts),
    )
    return {each.id: each for each in every}
