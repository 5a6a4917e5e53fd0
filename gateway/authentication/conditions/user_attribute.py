"""`conditional-user-attribute`: an attribute of the user has a value."""

from collections.abc import Iterable
from typing import ClassVar

from gateway.authentication.engine.sign_in import Config, SignIn, WithoutEffect, is_set
from gateway.authentication.errors import InvalidUserCredentials
from gateway.domain.events import EventError
from gateway.domain.flows import USER_ATTRIBUTE, SignInFlow
from gateway.domain.limits.patterns import LONGEST_FOR_PATTERN, Verdict, evaluate
from gateway.domain.ports.directory import Directory
from gateway.domain.user_profile.merging import values_of
from gateway.domain.users import User


class UserAttribute(WithoutEffect):
    """Matches users whose attribute `attribute_name` has the value `attribute_expected_value`.

    With `regex` the value is a pattern; one that takes long refuses the sign-in, and so does a
    value of the attribute that is too long to be compared with it. With
    `include_group_attributes` those of groups count as well; `not` turns it round.
    """

    id: ClassVar = USER_ATTRIBUTE

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def matches(self, sign_in: SignIn, config: Config, flow: SignInFlow) -> bool:
        """Return whether it has."""
        del flow
        name = config.get("attribute_name", "")
        expected = config.get("attribute_expected_value", "")
        user = sign_in.found_user
        if user is None:
            return False
        values = list(values_of(user).get(name, ()))
        if is_set(config, "include_group_attributes"):
            values += await self._of_groups(user, name)
        if not is_set(config, "regex"):
            return (expected in values) != is_set(config, "not")
        verdicts = await evaluate(
            lambda matches: [matches.verdict(expected, value) for value in values]
        )
        too_long = any(len(value) > LONGEST_FOR_PATTERN for value in values)
        if too_long or Verdict.TOO_COSTLY in verdicts:
            raise InvalidUserCredentials(EventError.INVALID_USER_CREDENTIALS, user.id)
        return (Verdict.MATCHES in verdicts) != is_set(config, "not")

    async def _of_groups(self, user: User, name: str) -> Iterable[str]:
        entry = await self._directory.user(user.realm_id, user.id)
        groups = () if entry is None else entry.group_attributes
        return [value for attributes in groups for value in attributes.get(name, ())]
