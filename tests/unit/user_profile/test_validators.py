"""Each validator of a user profile: what it takes, and what it refuses in Keycloak's words."""

from typing import Any

import pytest

from gateway.domain.limits.patterns import matches_at_once
from gateway.domain.profile_validators import VALIDATORS, ConfigurationError, ValidatorConfiguration
from gateway.domain.user_profile import ProfileFinding

MISSING = "error-validator-config-missing-value"
WRONG = "error-validator-config-invalid-value"
NO_NUMBER = "error-validator-config-invalid-number-value"


def check(name: str, values: dict[str, Any], *given: str) -> ProfileFinding | None:
    configuration = ValidatorConfiguration(values)
    judge = VALIDATORS[name](configuration)
    assert configuration.errors == []
    return judge(given, matches_at_once())


def errors(name: str, values: dict[str, Any]) -> list[ConfigurationError]:
    configuration = ValidatorConfiguration(values)
    VALIDATORS[name](configuration)
    return configuration.errors


USERNAME = "error-username-invalid-character"
PERSON = "error-person-name-invalid-character"
DATE = "error-invalid-date"
RANGE = "error-number-out-of-range"
TAKEN = [
    ("length", {"min": 3, "max": 5}, ["abc", "abcde", " abc "]),
    ("length", {"min": "3", "max": "5", "trim-disabled": "true"}, ["  a "]),
    ("length", {"min": 3}, ["x" * 500]),
    ("length", {"min": 3, "max": 3}, ["abc"]),
    ("integer", {"min": "-9223372036854775807"}, ["0"]),
    ("pattern", {"pattern": "a*"}, ["a" * 1024]),
    ("length", {"max": 3}, ["x"]),
    ("integer", {"min": "1", "max": 10}, ["1", "10", "+5"]),
    ("integer", {}, ["-9223372036854775808", "9223372036854775807"]),
    ("double", {"min": "1.5", "max": 10}, ["1.5", "10", "2.", "1e1"]),
    ("double", {}, ["-.5", "1e-7"]),
    ("pattern", {"pattern": "[a-z]+"}, ["ab"]),
    ("email", {}, ["a@b", '"a b"@c', "ä@b.c", "a@bä.c", "a@[127.0.0.1]", f"{'a' * 64}@b"]),
    ("email", {}, ['"a.b"@c', f"a@{'b' * 63}", f"a@{'b.' * 127}c"]),
    ("uri", {}, ["http://a", "https://a.b/c?d#e", "http://ä.test/%20"]),
    (
        "uri",
        {"allowedSchemes": ["ftp"], "allowFragment": "false", "requireValidUrl": False},
        ["ftp://a", "ftp:zz"],
    ),
    ("options", {"options": ["a", "b"]}, ["a", "b"]),
    ("local-date", {}, ["01/02/2024", "1/2/24", "2/29/2024", "2/29/00", "1/1/9999"]),
    ("up-username-not-idn-homograph", {}, ["½"]),
    ("iso-date", {}, ["2024-01-02", "2024-02-29"]),
    ("username-prohibited-characters", {}, ["ä", "a@b", "a+b", "a.b-c_d"]),
    ("person-name-prohibited-characters", {}, ["a b", "O'Neill", "ä, jr.", "a:b", "a@b"]),
    (
        "up-username-not-idn-homograph",
        {},
        ["admin", "ä", "ﬁ", "ª", "1-2.3@x", "٣", "\N{FULLWIDTH LATIN SMALL LETTER A}"],
    ),
]
REFUSED = [
    ("length", {"min": 3, "max": 5}, "ab", "error-invalid-length", (3, 5)),
    ("length", {"min": 3, "max": 5}, "  a  ", "error-invalid-length", (3, 5)),
    ("length", {"min": "3"}, "ab", "error-invalid-length-too-short", (3, None)),
    ("length", {"max": 3}, "abcd", "error-invalid-length-too-long", (None, 3)),
    *(
        ("integer", {}, text, "error-invalid-number", ())
        for text in ("a", "1.5", " 5", "9223372036854775808", "99999999999999999999", "٣", "")
    ),
    ("integer", {"min": "1", "max": 10}, "0", RANGE, (1, 10)),
    ("integer", {"min": 1}, "0", f"{RANGE}-too-small", (1, None)),
    ("integer", {"max": 1}, "2", f"{RANGE}-too-big", (None, 1)),
    *(
        ("double", {}, text, "error-invalid-number", ())
        for text in ("a", "1,5", "0x5", "NaN", "Infinity", "1e999", ".", "1" * 500)
    ),
    ("double", {"min": "1.5", "max": 10}, "1e0", RANGE, (1.5, 10.0)),
    ("pattern", {"pattern": "[a-z]+"}, "ab1", "error-pattern-no-match", ("[a-z]+",)),
    ("pattern", {"pattern": "a*", "error-message": "my.key"}, "b", "my.key", ("a*",)),
    ("pattern", {"pattern": "a*"}, "a" * 1025, "error-pattern-no-match", ("a*",)),
    *(
        ("email", {}, text, "error-invalid-email", (text,))
        for text in (
            *("a", "a@b@c", "a@b.", ".a@b", "a.@b", "a..b@c", "a@-b", "a@b-", "a b@c", "a@", "@b"),
            *(f"a@{'b' * 64}", f"{'a' * 65}@b.c", "a@b..c", f"a@{'b.' * 127}cc", "a@b c", "a\n@b"),
        )
    ),
    ("email", {"max-local-length": 3}, "abcd@b", "error-invalid-email", ("abcd@b",)),
    ("uri", {}, "a", "error-invalid-uri", ("a", "URI is not absolute")),
    ("uri", {}, "//a/b", "error-invalid-uri", ("//a/b", "URI is not absolute")),
    ("uri", {}, "ftp://a", "error-invalid-uri-scheme", ("ftp://a", "ftp")),
    ("uri", {}, "javascript:x", "error-invalid-uri-scheme", ("javascript:x", "javascript")),
    ("uri", {}, "http://", "error-invalid-uri", ("http://", "Expected authority at index 5")),
    ("uri", {}, "http:", "error-invalid-uri", ("http:", "Expected authority at index 5")),
    ("uri", {}, "http:a", "error-invalid-uri", ("http:a", "no host")),
    (
        *("uri", {}, "http://a b", "error-invalid-uri"),
        ("http://a b", "Illegal character at index 8"),
    ),
    ("uri", {}, "http://a/%zz", "error-invalid-uri", ("http://a/%zz", "Malformed escape")),
    (
        *("uri", {"allowFragment": False}, "http://a#b", "error-invalid-uri-fragment"),
        ("http://a#b", "b"),
    ),
    ("options", {"options": ["a"]}, "b", "error-invalid-value", ()),
    *(
        ("local-date", {}, text, DATE, ())
        for text in ("2024-01-02", "13/13/2024", "2/30/24", "Jan 1")
    ),
    *(
        ("iso-date", {}, text, DATE, (text,))
        for text in ("01/02/2024", "2024-1-2", "2024-02-30", "2024-01-02T00:00:00Z", "20240102")
    ),
    *(
        ("username-prohibited-characters", {}, f"a{sign}b", USERNAME, ())
        for sign in " \t\n\x01\xa0\u2028<>&\"'$%!#?§,;:*~/\\|^=[]{}()`"
    ),
    ("username-prohibited-characters", {"error-message": "no"}, "a b", "no", ()),
    *(
        ("person-name-prohibited-characters", {}, f"a{sign}b", PERSON, ())
        for sign in '\t\n\x01\u2028<>&"$%!#?§;*~/\\|^=[]{}()'
    ),
    ("up-username-not-idn-homograph", {"error-message": "no"}, "東京", "no", ()),
    *(
        ("up-username-not-idn-homograph", {}, text, USERNAME, ())
        for text in ("\N{CYRILLIC SMALL LETTER A}dmin", "東京", "Ωmega", "aβ", "a\u0301", "३")
    ),
]


@pytest.mark.parametrize(("name", "values", "texts"), TAKEN)
def test_a_validator_takes_what_keeps_to_it(
    name: str, values: dict[str, Any], texts: list[str]
) -> None:
    assert [text for text in texts if check(name, values, text) is not None] == []


@pytest.mark.parametrize(("name", "values", "text", "message", "parameters"), REFUSED)
def test_a_validator_refuses_what_does_not_in_keycloaks_words(
    name: str, values: dict[str, Any], text: str, message: str, parameters: tuple[object, ...]
) -> None:
    assert check(name, values, text) == ProfileFinding(message, parameters)  # type: ignore[arg-type] # any


def test_of_several_values_the_wrong_one_is_told() -> None:
    assert check("options", {"options": ["a"]}, "a", "b", "a") is not None
    assert check("options", {"options": ["a"]}) is None


@pytest.mark.parametrize(
    ("number", "fine"), [(0, False), (1, False), (2, True), (3, True), (4, False)]
)
def test_multivalued_counts_the_values(*, number: int, fine: bool) -> None:
    found = check("multivalued", {"min": "2", "max": 3}, *["x"] * number)
    assert found == (None if fine else ProfileFinding("error-invalid-multivalued-size", (2, 3)))
    assert check("multivalued", {"max": 1}) is None


def test_not_empty_needs_a_value_and_not_blank_a_visible_one() -> None:
    assert check("not-empty", {}, "x") is None
    assert check("not-empty", {}) == ProfileFinding("error-empty", ((),))
    assert check("not-blank", {}, "x") is None
    assert check("not-blank", {}) == ProfileFinding("error-invalid-blank", ((),))
    assert check("not-blank", {}, " ") == ProfileFinding("error-invalid-blank", ((" ",),))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("length", {}, [("min", MISSING, ()), ("max", MISSING, ())]),
        ("length", {"min": "x"}, [("min", NO_NUMBER, ("x",))]),
        ("length", {"min": True}, [("min", NO_NUMBER, ("True",))]),
        ("length", {"min": 1.5}, [("min", NO_NUMBER, ("1.5",))]),
        ("length", {"min": "٣"}, [("min", NO_NUMBER, ("٣",))]),
        ("length", {"min": "9223372036854775808"}, [("min", NO_NUMBER, ("9223372036854775808",))]),
        ("double", {"min": True}, [("min", NO_NUMBER, ("True",))]),
        ("double", {"min": [1]}, [("min", NO_NUMBER, ("[1]",))]),
        ("multivalued", {"max": "x"}, [("max", NO_NUMBER, ("x",))]),
        ("multivalued", {"min": 2, "max": 2}, []),
        ("length", {"min": 5, "max": 3}, [("max", WRONG, ())]),
        ("integer", {"min": "1.5"}, [("min", NO_NUMBER, ("1.5",))]),
        ("integer", {"min": "9" * 30}, [("min", NO_NUMBER, ("9" * 30,))]),
        ("double", {"min": "b"}, [("min", NO_NUMBER, ("b",))]),
        ("double", {"max": "nan"}, [("max", NO_NUMBER, ("nan",))]),
        ("double", {"min": 2, "max": 1}, [("max", WRONG, ())]),
        ("pattern", {}, [("pattern", MISSING, ())]),
        ("pattern", {"pattern": 5}, [("pattern", WRONG, ("5",)), ("pattern", MISSING, ())]),
        ("options", {}, [("options", MISSING, ())]),
        ("options", {"options": "a"}, [("options", WRONG, ("must be list of values",))]),
        ("options", {"options": [1]}, [("options", WRONG, ("must be list of values",))]),
        ("multivalued", {}, [("max", MISSING, ())]),
        ("multivalued", {"min": 3, "max": 2}, [("max", WRONG, ())]),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(
    name: str, values: dict[str, Any], expected: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert errors(name, values) == [ConfigurationError(*error) for error in expected]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [("(", "unterminated"), (r"\p{L}+", "bad escape"), ("(a+)+b", "It may match for hours")],
)
def test_a_pattern_that_cannot_be_matched_soon_is_refused(pattern: str, reason: str) -> None:
    (error,) = errors("pattern", {"pattern": pattern})
    assert error.message == WRONG
    assert error.given[0] == pattern
    assert reason in error.given[1]
