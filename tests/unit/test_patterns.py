"""Which patterns are matched at all: those whose ways to match are few. Spec: CWE-1333."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.limits.patterns import is_bounded_pattern

simple = st.sampled_from(["a", ".", "[ab]", "[^,]", r"\d", "(a)", "(?:ab)"])
unbounded = st.sampled_from(["*", "+", "*?", "+?", "{3,}", "{0,1000}"])
repeats = st.builds(lambda body, times: f"(?:{body}){times}", simple, unbounded)
"""One unbounded repeat of something that matches in one way."""
plain = st.text("abcXYZ =,", max_size=10)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        ".*",
        "(.*?)(?:$)",
        "^CN=device-.*, OU=x, O=y$",
        r"CN=device-\d+, OU=[^,]+, O=Realmgate Demonstration",
        "CN=(device|sensor)-[0-9a-f]{1,32}, (OU=.*, )?O=Example",
        "(?i)cn=.*",
        "(?=a*)a",
        "(?<!a)b",
        r"(?=.*[A-Z])(?=.*\d).{8,}",
    ],
)
def test_common_patterns_are_taken(pattern: str) -> None:
    assert is_bounded_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "CN=(a+)+b, .*",
        "(a|a)*b",
        "(a|ab)*b",
        "(a?){40}b",
        "a?" * 40 + "b",
        "(a|ab?)" * 40 + "c",
        "(.*,){9}b",
        ".*.*.*b",
        ".*.*" + "a" * 200,
        "(?:(?:){60000}){60000}",
        r"(a)\1",
        "(a)?(?(1)b|c)",
        "(?=(a+)+b)a",
        "(?!.*.*.*b)a",
        "a*(?=.*.*b)a",
        "(?>a*)",
        "a++",
        "(",
        "a{99999999999999999999}",
        "(" * 5000 + ")" * 5000,
    ],
)
def test_what_may_take_long_or_cannot_be_counted_is_not(pattern: str) -> None:
    assert not is_bounded_pattern(pattern)


@given(repeats, unbounded)
def test_no_repeat_stands_inside_another(inner: str, outer: str) -> None:
    assert not is_bounded_pattern(f"(?:{inner}){outer}")


@given(st.lists(st.tuples(plain, repeats), max_size=5), plain)
def test_two_repeats_may_follow_each_other_and_three_may_not(
    parts: list[tuple[str, str]], end: str
) -> None:
    pattern = "".join(text + repeat for text, repeat in parts) + end
    assert is_bounded_pattern(pattern) is (len(parts) <= 2)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(st.text("ab.*+?|()[]{}12,\\^$", max_size=20))
def test_any_text_is_judged(pattern: str) -> None:
    """It is the administrator's text: no error of the parser may escape."""
    is_bounded_pattern(pattern)
