"""The grammar of `passwordPolicy`: `name(argument) and name and ...`.

The text is cut at the literal ` and `, a name ends at the first bracket, an argument before the
last character. Order and spelling are kept, `pbkdf2-sha-256` among them: it is no id of
Keycloak's, the reference configuration uses it for `pbkdf2-sha256`.
Keycloak: PasswordPolicy.parse, PasswordPolicyConfigException
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.password_hashing import HASH_SCHEME_OF, HASH_SCHEMES
from gateway.domain.limits.patterns import LARGEST_PATTERN, pattern_weight
from gateway.domain.realm import PasswordPolicy, PasswordRule
from gateway.policies import POLICIES
from gateway.policies.description import MAX_NUMBER, NUMBER, RuleDescription, number_argument
from gateway.policies.regex_pattern import RegexPattern
from gateway.representations.json_input import check_text
from gateway.representations.refusals import describe, raise_all, refused, repeated

_LONGEST = 4000
_PATTERN: Final = RegexPattern.name


def _iterations(argument: str) -> str | None:
    fine = not argument or (NUMBER.fullmatch(argument) and 0 < int(argument) <= MAX_NUMBER)
    return None if fine else f"Not a number from 1 to {MAX_NUMBER}"


def _hash_algorithm(argument: str) -> str | None:
    known = not argument or argument in HASH_SCHEME_OF
    return None if known else "Password hashing provider not found"


RULES: Final[Mapping[str, RuleDescription]] = {
    **{rule.name: rule.description for rule in POLICIES},
    "forceExpiredPasswordChange": number_argument("Expire Password", "365", "String"),
    "hashAlgorithm": RuleDescription(
        _hash_algorithm, "Hashing Algorithm", "String", HASH_SCHEMES[0].name
    ),
    "hashIterations": RuleDescription(_iterations, "Hashing Iterations", default="-1"),
    "maxAuthAge": number_argument("Maximum Authentication Age", "300"),
    "recoveryCodesWarningThreshold": number_argument("Recovery Codes Warning Threshold", "4"),
}
"""Every rule by its name. Those of POLICIES check new passwords, the others do not."""
_REPEATABLE: Final = frozenset(name for name, rule in RULES.items() if rule.repeatable)


class PasswordPolicyText:
    """The shape of the field; an empty text is a policy without rules."""

    def read(self, value: Any, path: str) -> PasswordPolicy:
        if not isinstance(value, str) or len(value) > _LONGEST:
            raise refused(path, value, f"rules joined with and, at most {_LONGEST} characters")
        check_text(value, path)
        rules = tuple(_parse(text.strip()) for text in value.split(" and ") if value.strip())
        _check_patterns(rules, path)
        errors = [error for rule in rules for error in _errors(rule, path)]
        errors.extend(
            FieldError(path, f"{describe(name)} more than once", "each rule once")
            for name in sorted({*repeated(rule.name for rule in rules)} - _REPEATABLE)
        )
        raise_all(errors)
        return PasswordPolicy(rules)

    def write(self, value: PasswordPolicy) -> str:
        return " and ".join(
            f"{rule.name}({rule.argument})" if rule.argument else rule.name for rule in value.rules
        )


def _parse(text: str) -> PasswordRule:
    name, bracket, rest = text.partition("(")
    argument = rest[:-1].strip() if bracket else ""
    return PasswordRule(name.strip(), argument or None)


def _errors(rule: PasswordRule, path: str) -> list[FieldError]:
    known = RULES.get(rule.name)
    if known is None:
        given = f"{describe(rule.name)} (Password policy not found)"
        return [FieldError(path, given, "rules among " + ", ".join(RULES))]
    reason = known.check(rule.argument or "")
    if reason is None:
        return []
    given = f"{rule.name}({rule.argument or ''})"
    wrong = f"{describe(given)} (Invalid config for {rule.name}: {reason})"
    return [FieldError(path, wrong, f"a valid argument of {rule.name}")]


def check_hash_cost(policy: PasswordPolicy, path: str) -> None:
    """Raise InvalidInput for a policy whose hashes must not be computed.

    Asked of every policy that is written. One that was stored by an earlier version can be read:
    its realm computes no more than the maximum.
    """
    algorithm, iterations = (
        policy.hash_algorithm or HASH_SCHEMES[0].name,
        policy.hash_iterations or 0,
    )
    most = HASH_SCHEME_OF[algorithm].most_iterations
    if iterations > most:
        given = f'"hashIterations({iterations})" for {algorithm}'
        raise InvalidInput((FieldError(path, given, f"1 to {most} for {algorithm}"),))


def _check_patterns(rules: Iterable[PasswordRule], path: str) -> None:
    """Raise InvalidInput where preparing all patterns together takes too long."""
    patterns = [rule.argument or "" for rule in rules if rule.name == _PATTERN]
    if sum(map(pattern_weight, patterns)) > LARGEST_PATTERN:
        given = f"{len(patterns)} {_PATTERN} rules with long patterns or large ranges"
        raise InvalidInput((FieldError(path, given, "fewer or shorter patterns"),))
