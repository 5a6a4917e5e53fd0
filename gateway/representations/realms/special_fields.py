"""Fields of a realm with a grammar or a secret: `passwordPolicy`, headers, SMTP, webhook.

`passwordPolicy` is `name(argument) and name and ...`. The text is cut at the literal ` and `, a
name ends at the first bracket, an argument before the last character. Order and spelling are kept,
`pbkdf2-sha-256` among them: it is no id of Keycloak's, the reference configuration uses it for
`pbkdf2-sha256`.

`browserSecurityHeaders` is a free map of strings, refused only where it would break a response. The
values are sent as they are, `SOMEORIGIN` too: the administrator decides. An update that names one
header changes that one: the others stay, or responses would lose them unnoticed.

Secrets of `smtpServer` and `realmgate.webhook.secret` are answered as `**********`. That text sent
back keeps the old secret; of `smtpServer` only if the server is the same: the secret of one host
must not be sent to another. Keycloak: smtpServer, which keeps it always; PasswordPolicy.parse,
PasswordPolicyConfigException; BrowserSecurityHeaders, updating a realm. Spec: RFC 9110 §5.5
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.limits.password_hashing import HASH_SCHEME_OF, HASH_SCHEMES
from gateway.domain.limits.patterns import LARGEST_PATTERN, pattern_weight
from gateway.domain.realm import (
    LONGEST_WEBHOOK_SECRET,
    SHORTEST_WEBHOOK_SECRET,
    WEBHOOK_SECRET,
    PasswordPolicy,
    PasswordRule,
    Realm,
    SecurityHeaders,
    Smtp,
)
from gateway.domain.secrets import Secret
from gateway.password_policies import (
    MAX_NUMBER,
    NUMBER,
    POLICIES,
    RegexPattern,
    RuleDescription,
    number_argument,
)
from gateway.representations.json_input import check_text, is_plain_text
from gateway.representations.refusals import (
    attempt,
    describe,
    join,
    mistyped,
    raise_all,
    refused,
    refused_secret,
    repeated,
)
from gateway.representations.shapes import MASK, PrintableName, TextMap

_RULES_LENGTH = 4000
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
        if not isinstance(value, str) or len(value) > _RULES_LENGTH:
            raise refused(path, value, f"rules joined with and, at most {_RULES_LENGTH} characters")
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


_KEY = re.compile("[A-Za-z0-9_.-]{1,100}")
# A field value of HTTP: Latin-1 without controls, not beginning or ending with white space.
_VALUE = re.compile("(?:[\x21-\x7e\xa0-\xff](?:[\x20-\x7e\xa0-\xff\t]*[\x21-\x7e\xa0-\xff])?)?")
_LONGEST_VALUE = 2000
# All of them together must fit, with the other headers, into a proxy's smallest buffer of 4 kB.
_LONGEST_TOGETHER = 3000


class SecurityHeadersMap:
    """The shape of the field."""

    def read(self, value: Any, path: str) -> SecurityHeaders:
        texts = TextMap().read(value, path)
        errors: list[FieldError] = []
        for name, text in texts.items():
            attempt(errors, None, _check_header, name, text, join(path, name))
        if sum(map(len, texts.values())) > _LONGEST_TOGETHER:
            errors.append(
                FieldError(path, "longer values", f"{_LONGEST_TOGETHER} characters in all values")
            )
        raise_all(errors)
        return SecurityHeaders(tuple(texts.items()))

    def write(self, value: SecurityHeaders) -> dict[str, str]:
        return dict(value.values)


def with_lasting(value: Any, before: SecurityHeaders) -> Any:
    """Return the map as sent with the headers that it does not name; null takes one away."""
    return {**dict(before.values), **value} if isinstance(value, Mapping) else value


def _check_header(name: str, text: str, path: str) -> None:
    if not _KEY.fullmatch(name):
        raise refused(path, name, "a key of letters, digits, dots, hyphens and underscores")
    if len(text) > _LONGEST_VALUE or not _VALUE.fullmatch(text):
        allowed = f"at most {_LONGEST_VALUE} Latin-1 characters without control characters"
        raise refused(path, text, f"{allowed} and without white space at either end")


_PASSWORD = "password"  # noqa: S105 - the name of the field
_TOKEN_SECRET = "authTokenClientSecret"  # noqa: S105 - the same
SECRETS = (_PASSWORD, _TOKEN_SECRET)
_FLAGS = ("ssl", "starttls", "auth")
_HEADER_PARTS = ("from", "fromDisplayName", "replyTo", "replyToDisplayName", "envelopeFrom", "host")
_LONGEST_SMTP_TEXT = 2000


class SmtpMap:
    """The shape of the field."""

    def read(self, value: Any, path: str) -> Smtp:
        """Return the server; a masked secret comes back as the secret `MASK`."""
        if not isinstance(value, dict):
            # It may be the password, put one level too high.
            raise refused_secret(path, "an object of texts")
        visible = {name: text for name, text in value.items() if name not in SECRETS}
        settings = TextMap(longest=_LONGEST_SMTP_TEXT).read(visible, path)
        errors: list[FieldError] = []
        for name, text in settings.items():
            attempt(errors, None, _check_smtp_member, name, text, join(path, name))
        password, token_secret = (
            attempt(errors, None, _read_secret, value.get(name), join(path, name))
            for name in SECRETS
        )
        raise_all(errors)
        return Smtp(settings, password, token_secret)

    def write(self, value: Smtp) -> dict[str, str]:
        return {**value.settings, **dict.fromkeys(_secrets(value), MASK)}


def render_unmasked(value: Smtp) -> dict[str, str]:
    """Return the map with the secrets in clear, for an export that asks for them."""
    clear = {name: secret.reveal() for name, secret in _secrets(value).items()}
    return {**value.settings, **clear}


def keep_secrets(given: Smtp, before: Smtp) -> Smtp:
    """Return `given`, with a secret of `before` where the mask stands for it.

    A secret that would go to another server is removed instead. So is the secret for tokens where
    the mail server is another one: it would receive a token that the secret bought.
    """
    is_same = given.host == before.host
    buys_same = is_same and given.token_url == before.token_url
    return given.with_secrets(
        _kept(given.password, before.password if is_same else None),
        _kept(given.token_secret, before.token_secret if buys_same else None),
    )


def _secrets(value: Smtp) -> dict[str, Secret]:
    named = {_PASSWORD: value.password, _TOKEN_SECRET: value.token_secret}
    return {name: secret for name, secret in named.items() if secret}


def _kept(given: Secret | None, before: Secret | None) -> Secret | None:
    return before if given is not None and given.matches(MASK) else given


def _check_smtp_member(name: str, text: str, path: str) -> None:
    if name == "port" and text and not _is_port(text):
        raise refused(path, text, "a port from 1 to 65535")
    if name in _FLAGS and text not in {"", "true", "false"}:
        raise refused(path, text, "true or false")
    if name in _HEADER_PARTS and not text.isprintable():
        raise refused(path, text, "text without line breaks or control characters")


def _is_port(text: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", text) is not None and 0 < int(text) < 2**16


def _read_secret(text: Any, path: str) -> Secret | None:
    if text is None or text == "":
        return None
    if not isinstance(text, str) or len(text) > _LONGEST_SMTP_TEXT or not is_plain_text(text):
        raise refused_secret(path, f"text of at most {_LONGEST_SMTP_TEXT} characters")
    return Secret(text)


def with_webhook_secret(realm: Realm, before: Realm) -> Realm:
    """Return the realm with the secret out of the attributes that were sent.

    The mask stands for the secret of `before`. Raises InvalidInput.
    """
    attributes = dict(realm.attributes)
    text = attributes.pop(WEBHOOK_SECRET, "")
    given = Secret(text) if text else None
    secret = before.webhook_secret if text == MASK else given
    if secret is not None and not _is_long_enough(secret):
        raise refused_secret(join("attributes", WEBHOOK_SECRET), _ALLOWED)
    return replace(realm, attributes=attributes, webhook_secret=secret)


def shown_attributes(realm: Realm, *, masked: bool = True) -> dict[str, str]:
    """Return the attributes with the secret, masked or in clear."""
    if realm.webhook_secret is None:
        return dict(realm.attributes)
    secret = MASK if masked else realm.webhook_secret.reveal()
    return {**realm.attributes, WEBHOOK_SECRET: secret}


def _is_long_enough(secret: Secret) -> bool:
    return SHORTEST_WEBHOOK_SECRET <= len(secret.reveal()) <= LONGEST_WEBHOOK_SECRET


_ALLOWED = f"text of {SHORTEST_WEBHOOK_SECRET} to {LONGEST_WEBHOOK_SECRET} characters"


class DefaultRole:
    """The shape of `defaultRole` of a realm: an object with the name of every new user's role.

    Other members are ignored: they stand with the roles. An empty object is null.
    """

    empty_types: ClassVar[tuple[type, ...]] = (dict,)

    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, Mapping):
            raise mistyped(path, value, "a role")
        return PrintableName().read(value.get("name"), join(path, "name"))

    def write(self, value: str) -> dict[str, Any]:
        return {"name": value}
