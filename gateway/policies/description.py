"""How a rule of `passwordPolicy` is described, and the checks of its argument.

Keycloak: 5.1; display name, type and default of the argument are those of its providers
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway.domain.limits.patterns import MAY_TAKE_HOURS, TOO_LARGE, pattern_problem

MAX_NUMBER: Final = 2**31 - 1
NUMBER: Final = re.compile(r"-?[0-9]{1,10}")

ArgumentCheck = Callable[[str], str | None]
"""Returns what is wrong with the argument, None for nothing."""


@dataclass(frozen=True, slots=True)
class RuleDescription:
    """The check of the argument, the display name, and the argument's type and default.

    A rule without an argument has an empty `kind`. A `repeatable` rule may occur several times in
    one policy.
    """

    check: ArgumentCheck
    label: str
    kind: str = "int"
    default: str = ""
    repeatable: bool = False


def number_argument(label: str, default: str, kind: str = "int") -> RuleDescription:
    """Return the description of a rule that takes a whole number, or none."""
    return RuleDescription(_number_problem, label, kind, default)


def no_argument(label: str) -> RuleDescription:
    """Return the description of a rule that ignores its argument."""
    return RuleDescription(lambda _: None, label, kind="")


def pattern_argument(argument: str) -> str | None:
    """Return what is wrong with a regular expression."""
    if not argument:
        return "Config required"
    problem = pattern_problem(argument)
    if problem is None or problem in {MAY_TAKE_HOURS, TOO_LARGE}:
        return problem
    return "Not a valid regular expression"


def file_name_argument(argument: str) -> str | None:
    """Return what is wrong with the name of a file."""
    return None if argument and "/" not in argument else "Not a file name"


def _number_problem(argument: str) -> str | None:
    if not argument:
        return None
    if not NUMBER.fullmatch(argument) or not -1 <= int(argument) <= MAX_NUMBER:
        return "Not a valid number"
    return None
