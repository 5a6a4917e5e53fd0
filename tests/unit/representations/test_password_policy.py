"""The grammar of `passwordPolicy`. Spec: part 2.3; Keycloak: password policies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.errors import InvalidInput
from gateway.domain.realm import PasswordRule
from gateway.representations.realms.realm import (
    create_realm,
    merge_realm,
    parse_realm,
    update_realm,
)
from gateway.representations.realms.special_fields import RULES, PasswordPolicyText
from tests.support.realms import thorough

SHAPE = PasswordPolicyText()
REFERENCE = (
    "hashAlgorithm(pbkdf2-sha-256) and digits(1) and lowerCase(1) and upperCase(1) and "
    "notUsername and notEmail and forceExpiredPasswordChange(30) and passwordHistory(4) and "
    "length(16)"
)


def refusals(text: object) -> list[str]:
    with pytest.raises(InvalidInput) as refusal:
        SHAPE.read(text, "passwordPolicy")
    return [str(error) for error in refusal.value.errors]


def test_the_reference_policy_is_read_in_order_and_unchanged() -> None:
    policy = SHAPE.read(REFERENCE, "passwordPolicy")
    assert policy.rules[0] == PasswordRule("hashAlgorithm", "pbkdf2-sha-256")
    assert policy.rules[4] == PasswordRule("notUsername")
    assert policy.argument("length") == "16"
    assert policy.hash_algorithm == "pbkdf2-sha-256"
    assert SHAPE.write(policy) == REFERENCE


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("", ""),
        ("notUsername(undefined)", "notUsername(undefined)"),
        ("notUsername()", "notUsername"),
        ("digits", "digits"),
        (" digits(1)  and  length(8) ", "digits(1) and length(8)"),
        ("regexPattern((a|b)+) and regexPattern(x)", "regexPattern((a|b)+) and regexPattern(x)"),
        ("passwordHistory(-1)", "passwordHistory(-1)"),
    ],
)
def test_spellings_that_are_understood(given: str, written: str) -> None:
    assert SHAPE.write(SHAPE.read(given, "p")) == written


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense(1)", "Password policy not found"),
        ("Length(8)", "Password policy not found"),
        ("length(eight)", "Invalid config for length: Not a valid number"),
        ("length(8.5)", "Invalid config for length: Not a valid number"),
        ("digits(-2)", "Invalid config for digits: Not a valid number"),
        ("digits(99999999999)", "Invalid config for digits: Not a valid number"),
        ("hashAlgorithm(md5)", "hashAlgorithm: Password hashing provider not found"),
        ("hashIterations(0)", "Invalid config for hashIterations"),
        ("hashIterations(9999999999)", "Invalid config for hashIterations"),
        ("regexPattern([)", "Invalid config for regexPattern: Not a valid regular expression"),
        ("regexPattern", "Invalid config for regexPattern: Config required"),
        ("passwordBlacklist(../../etc/shadow)", "Invalid config for passwordBlacklist"),
        ("length(8) and length(9)", "more than once"),
        ("length(8)\0", "text without NUL"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_reason(text: str, reason: str) -> None:
    assert any(reason in line for line in refusals(text))


@pytest.mark.parametrize(
    ("algorithm", "most"),
    [
        ("", 73),
        ("hashAlgorithm(argon2) and ", 73),
        ("hashAlgorithm and ", 73),
        ("hashAlgorithm(pbkdf2) and ", 3_000_000),
        ("hashAlgorithm(pbkdf2-sha-256) and ", 3_000_000),
        ("hashAlgorithm(pbkdf2-sha512) and ", 1_500_000),
    ],
)
def test_a_rule_whose_hashes_cost_too_much_is_refused(algorithm: str, most: int) -> None:
    """210,000 is Keycloak's number for pbkdf2-sha512; with Argon2 it would take half an hour."""
    dear, fine = (
        {"realm": "acme", "passwordPolicy": f"{algorithm}hashIterations({number})"}
        for number in (most + 1, most)
    )
    before = create_realm({"realm": "acme"})
    for write in (
        create_realm,
        lambda document: update_realm(document, before),
        lambda document: merge_realm(document, before),
    ):
        assert write(fine).password_policy.hash_iterations == most
        with pytest.raises(InvalidInput, match=rf"passwordPolicy: .*1 to {most} for "):
            write(dear)


def test_a_rule_older_than_the_limit_is_read_and_put_back() -> None:
    document = {"realm": "acme", "passwordPolicy": "hashIterations(10000000)"}
    stored = parse_realm(document)
    assert update_realm(document | {"enabled": False}, stored).enabled is False
    assert update_realm({"passwordPolicy": "hashIterations(5)"}, stored) != stored


def test_every_wrong_rule_is_told() -> None:
    assert len(refusals("nope and length(x) and digits(1) and digits(2)")) == 3


@pytest.mark.parametrize("given", [5, True, [], {}, "x" * 4001])
def test_only_text_of_bounded_length_is_a_policy(given: object) -> None:
    assert len(refusals(given)) == 1


@thorough
@given(st.lists(st.sampled_from(sorted(RULES)), unique=True))
def test_order_is_kept(names: list[str]) -> None:
    arguments = {"regexPattern": "x", "passwordBlacklist": "words.txt"}
    text = " and ".join(
        f"{name}({arguments[name]})" if name in arguments else name for name in names
    )
    assert [rule.name for rule in SHAPE.read(text, "p").rules] == names
