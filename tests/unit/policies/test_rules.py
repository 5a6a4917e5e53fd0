"""Each rule for new passwords: what it takes, and what it refuses in Keycloak's words."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway.domain.errors import InvalidInput
from gateway.domain.realm import PasswordPolicy, PasswordRule
from gateway.domain.secrets import Secret
from gateway.http.pages import load_designs
from gateway.password_policies import (
    POLICIES,
    Candidate,
    EarlierPassword,
    PasswordRefused,
    check_new_password,
    list_requirements,
)
from gateway.representations.realms.special_fields import RULES
from gateway.storage.realm_texts import FilePasswordBlacklists

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NO_VALIDATORS = {
    *("hashAlgorithm", "hashIterations", "forceExpiredPasswordChange"),
    *("maxAuthAge", "recoveryCodesWarningThreshold"),
}


@dataclass(frozen=True, slots=True)
class Earlier:
    """A password that was set some days ago."""

    text: str
    days: float

    @property
    def made_at(self) -> datetime:
        """When it was set."""
        return NOW - timedelta(days=self.days)

    async def is_it(self, password: Secret) -> bool:
        """Compare the texts."""
        return password.reveal() == self.text


async def refusal(
    rules: Sequence[tuple[str, str | None]] | tuple[str, str | None], password: str, **facts: object
) -> PasswordRefused | None:
    given = [rules] if isinstance(rules, tuple) else rules
    policy = PasswordPolicy(tuple(PasswordRule(name, argument) for name, argument in given))
    candidate = Candidate(Secret(password), "alice", NOW, email="alice@acme.test")
    try:
        await check_new_password(policy, replace(candidate, **facts))  # type: ignore[arg-type] # by name
    except PasswordRefused as refused:
        return refused
    return None


RULE = {
    # name, argument, taken, refused, key, text
    "length": ("length", "5", "12345", "1234", "MinLength", "minimum length 5."),
    "length by default": ("length", None, "12345678", "1234567", "MinLength", "minimum length 8."),
    "maxLength": ("maxLength", "4", "1234", "12345", "MaxLength", "maximum length 4."),
    "maxLength by default": (
        *("maxLength", None, "x" * 64, "x" * 65, "MaxLength"),
        "maximum length 64.",
    ),
    "digits": (
        *("digits", "2", "a1b\u0662", "a1b", "MinDigits"),
        "must contain at least 2 numerical digits.",
    ),
    "digits are no fractions": (
        *("digits", None, "1", "\u00bd\u00b2", "MinDigits"),
        "must contain at least 1 numerical digits.",
    ),
    "lowerCase": (
        *("lowerCase", "2", "aB\u00df", "AaB", "MinLowerCaseChars"),
        "must contain at least 2 lower case characters.",
    ),
    "upperCase": (
        *("upperCase", "2", "\u00c4bC", "aBc", "MinUpperCaseChars"),
        "must contain at least 2 upper case characters.",
    ),
    "specialChars": (
        *("specialChars", "2", "a!\u20ac", "a!\u00e41", "MinSpecialChars"),
        "must contain at least 2 special characters.",
    ),
    "regexPattern": (
        *("regexPattern", "[a-z]+", "abc", "abc1", "RegexPattern"),
        "fails to match regex pattern(s).",
    ),
    "notUsername": (
        *("notUsername", "undefined", "alice1", "ALICE", "NotUsername"),
        "must not be equal to the username.",
    ),
    "notContainsUsername": (
        *("notContainsUsername", None, "ali-ce", "xAlice1", "NotContainsUsername"),
        "Can not contain the username.",
    ),
    "notEmail": (
        *("notEmail", None, "alice@acme", "Alice@ACME.test", "NotEmail"),
        "must not be equal to the email.",
    ),
}


@pytest.mark.parametrize("case", RULE.values(), ids=RULE)
async def test_a_rule_takes_what_keeps_it_and_refuses_what_does_not(
    case: tuple[str, str | None, str, str, str, str],
) -> None:
    name, argument, kept, broken, key, text = case
    assert await refusal((name, argument), kept) is None
    refused = await refusal((name, argument), broken)
    assert refused is not None
    assert refused.key == f"invalidPassword{key}Message"
    assert str(refused) == f"Invalid password: {text}"
    assert await refusal([], broken) is None


@pytest.mark.parametrize("name", ["length", "digits", "lowerCase", "upperCase", "specialChars"])
async def test_a_number_below_one_asks_for_nothing(name: str) -> None:
    assert await refusal((name, "-1"), "") is None
    assert await refusal((name, "0"), "") is None


async def test_who_has_no_address_passes_the_rule_about_it() -> None:
    assert await refusal(("notEmail", None), "x", email=None) is None


async def test_every_pattern_of_several_has_to_match() -> None:
    rules = [("regexPattern", ".*a.*"), ("regexPattern", ".*b.*")]
    assert await refusal(rules, "ab") is None
    assert await refusal(rules, "a") is not None


def _history(*texts: str) -> list[EarlierPassword]:
    return [Earlier(text, days) for days, text in enumerate(texts, start=10)]


@pytest.mark.parametrize(
    ("argument", "refused"),
    [
        ("-1", ""),
        ("0", "current"),
        ("1", "current"),
        ("2", "current first"),
        (None, "current first second"),
        ("4", "current first second third"),
        ("9", "current first second third"),
    ],
)
async def test_the_last_passwords_are_refused_the_current_one_counts(
    argument: str | None, refused: str
) -> None:
    before = {"current": Earlier("current", 1), "former": _history("first", "second", "third")}
    given = {"current", "first", "second", "third", "other"}
    found = {
        text
        for text in given
        if await refusal(("passwordHistory", argument), text, **before) is not None
    }
    assert found == set(refused.split())


async def test_the_text_of_the_history_names_the_number() -> None:
    refused = await refusal(("passwordHistory", "4"), "x", current=Earlier("x", 1))
    assert refused is not None
    assert refused.key == "invalidPasswordHistoryMessage"
    assert str(refused) == "Invalid password: must not be equal to any of last 4 passwords."


@pytest.mark.parametrize(
    ("argument", "refused"),
    [("-1", ""), ("0", "current"), ("11", "current first"), (None, "current first second")],
)
async def test_passwords_of_the_last_days_are_refused(argument: str | None, refused: str) -> None:
    former = [Earlier("first", 10.9), Earlier("second", 29.9), Earlier("third", 30)]
    before = {"current": Earlier("current", 400), "former": former}
    found = {
        text
        for text in ("current", "first", "second", "third", "other")
        if await refusal(("passwordAge", argument), text, **before) is not None
    }
    assert found == set(refused.split())
    told = await refusal(("passwordAge", "1"), "current", **before)
    assert told is not None
    assert (told.key, str(told)) == (
        "invalidPasswordGenericMessage",
        "Invalid password: new password does not match password policies.",
    )


async def test_a_password_of_the_list_is_refused_in_any_capitals(tmp_path: Path) -> None:
    (tmp_path / "worst.txt").write_bytes(b"hunter2\r\nLetMeIn\nwith space \n\xff\xfe\n")
    lists = FilePasswordBlacklists(tmp_path)
    for text in ("hunter2", "HUNTER2", "letmein", "with space "):
        refused = await refusal(("passwordBlacklist", "worst.txt"), text, blacklists=lists)
        assert refused is not None, text
        assert refused.key == "invalidPasswordBlacklistedMessage"
        assert str(refused) == "Invalid password: password is blacklisted."
    for text in ("hunter", "hunter22", "with space", "\r"):
        assert await refusal(("passwordBlacklist", "worst.txt"), text, blacklists=lists) is None


@pytest.mark.parametrize("name", ["away.txt", "", "..", ".", "../worst.txt", "a\0b", None])
async def test_without_its_list_the_rule_refuses_everything(
    tmp_path: Path, name: str | None
) -> None:
    """What cannot be compared is not good; and no path leads out of the folder."""
    (tmp_path / "worst.txt").write_text("hunter2\n")
    (tmp_path / "lists").mkdir()
    for lists in ({"blacklists": FilePasswordBlacklists(tmp_path / "lists")}, {}):
        with pytest.raises(InvalidInput, match="password-blacklists") as told:
            await refusal(("passwordBlacklist", name), "good", **lists)
        assert not isinstance(told.value, PasswordRefused)


async def test_what_costs_a_hash_is_asked_last() -> None:
    """A password that is too short must not cost the time of the whole history."""

    class Untouched(Earlier):
        async def is_it(self, password: Secret) -> bool:
            raise AssertionError(password)

    rules = [("passwordHistory", "3"), ("passwordAge", "3"), ("length", "8")]
    refused = await refusal(rules, "short", current=Untouched("x", 1))
    assert refused is not None
    assert "minimum length" in str(refused)


def test_every_grammar_rule_is_enforced_or_not_for_passwords() -> None:
    enforced = {rule.name for rule in POLICIES}
    assert enforced | NO_VALIDATORS == set(RULES)
    assert enforced.isdisjoint(NO_VALIDATORS)
    assert all(RULES[rule.name] is rule.description for rule in POLICIES)


def test_users_are_told_every_rule_in_every_language() -> None:
    """A rule that refuses something has a text, in the order of the table."""
    catalogs = load_designs(None).built_in.catalogs
    given = tuple(PasswordRule(rule.name, None) for rule in reversed(POLICIES))
    texts = list_requirements(PasswordPolicy((*given, PasswordRule("hashAlgorithm", "argon2"))))
    assert [text.key for text in texts] == [rule.description.requirement for rule in POLICIES]
    for catalog in catalogs.values():
        for text in texts:
            takes_argument = "{0}" in catalog[text.key]
            rule = next(one for one in POLICIES if one.description.requirement == text.key)
            assert takes_argument == (
                rule.description.kind != "" and rule.name != "passwordBlacklist"
            )


@pytest.mark.parametrize(
    ("rule", "argument", "shown"),
    [
        ("length", None, ["8"]),
        ("length", "12", ["12"]),
        ("digits", "0", None),
        ("upperCase", "-1", None),
        ("passwordHistory", None, ["3"]),
        ("passwordHistory", "0", ["1"]),
        ("passwordHistory", "-1", None),
        ("passwordAge", "-1", None),
        ("passwordAge", "7", ["7"]),
        ("regexPattern", "[a-z]+", ["[a-z]+"]),
        ("maxLength", None, ["64"]),
        ("forceExpiredPasswordChange", "1", None),
    ],
)
def test_a_rule_is_told_with_the_number_that_acts(
    rule: str, argument: str | None, shown: list[str] | None
) -> None:
    found = list_requirements(PasswordPolicy((PasswordRule(rule, argument),)))
    assert [list(text.arguments) for text in found] == ([] if shown is None else [shown])
