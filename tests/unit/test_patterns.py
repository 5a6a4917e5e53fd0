"""Which patterns are matched at all: those whose ways to match are few. Spec: CWE-1333."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.limits import patterns
from gateway.domain.limits.patterns import (
    MAY_TAKE_HOURS,
    TOO_LARGE,
    MatchesPending,
    PatternMatches,
    Verdict,
    evaluate,
    matches_at_once,
    pattern_problem,
    repeat_while_pending,
)

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
    assert pattern_problem(pattern) is None


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
    assert pattern_problem(pattern) is not None


CLASSES = ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]")
THREE_OF_FOUR = "|".join(
    "".join(f"(?=.*{one})" for one in CLASSES if one != missing) for missing in CLASSES
)


@pytest.mark.parametrize(
    ("pattern", "matching", "differing"),
    [
        (f"^(?:{THREE_OF_FOUR}).*$", "aA1", "aaAA"),
        ("(?=.*[A-Z]).*", "xX", "xx"),
        ("^[A-Z]+#[a-z]{8}$", "AB#abcdefgh", "AB#abc"),
        ("^.{8,150}$", "\u00e9" * 8, "e" * 7),
        (r"^\w+$", "\u00e9l\u00e8ve", "a b"),
        ("SERIALNUMBER=(.*?),", "SERIALNUMBER=1,", "SERIALNUMBER=1"),
        (
            r"CN=api\.example,O=Example.*",
            "CN=api.example,O=Example Ltd",
            "CN=apixexample,O=Example",
        ),
    ],
)
def test_patterns_of_public_realms_keep_their_meaning(
    pattern: str, matching: str, differing: str
) -> None:
    """Look-ahead is the only way to write "three of four" in a password policy."""
    assert pattern_problem(pattern) is None
    matches = matches_at_once()
    assert matches.verdict(pattern, matching) is Verdict.MATCHES
    assert matches.verdict(pattern, differing) is Verdict.DIFFERS


@given(repeats, unbounded)
def test_no_repeat_stands_inside_another(inner: str, outer: str) -> None:
    assert pattern_problem(f"(?:{inner}){outer}") is not None


@given(st.lists(st.tuples(plain, repeats), max_size=5), plain)
def test_two_repeats_may_follow_each_other_and_three_may_not(
    parts: list[tuple[str, str]], end: str
) -> None:
    pattern = "".join(text + repeat for text, repeat in parts) + end
    assert (pattern_problem(pattern) is None) is (len(parts) <= 2)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(st.text("ab.*+?|()[]{}12,\\^$", max_size=20))
def test_any_text_is_judged(pattern: str) -> None:
    """It is the administrator's text: no error of the parser may escape."""
    pattern_problem(pattern)


COSTLY = "(?:(?=(.)*(.)*b)|a)a*"
"""Takes four million steps for a text of a thousand characters."""


def text(number: int) -> str:
    return "a" * (1_000 - number)


def test_a_match_says_whether_the_whole_text_matches() -> None:
    matches = PatternMatches()
    assert matches.verdict("a+", "aa") is Verdict.MATCHES
    assert matches.verdict("a+", "aab") is Verdict.DIFFERS
    assert matches.verdict("a+", "a" * 1_025) is Verdict.DIFFERS
    assert not matches.pending


@pytest.mark.parametrize("pattern", ["(", "(a+)+b", "a" * 5_000])
def test_a_pattern_that_may_not_be_used_matches_nothing(pattern: str) -> None:
    """Not even where it was stored before there were limits."""
    assert matches_at_once().verdict(pattern, "a") is Verdict.TOO_COSTLY


def test_all_matches_of_an_evaluation_share_one_budget() -> None:
    matches = matches_at_once()
    verdicts = [matches.verdict(COSTLY, text(number)) for number in range(10)]
    assert verdicts == [Verdict.MATCHES, *[Verdict.TOO_COSTLY] * 9]
    assert matches.verdict(COSTLY, text(0)) is Verdict.MATCHES, "what is known costs nothing"
    assert matches.verdict("a+", "a") is Verdict.MATCHES


def test_a_long_match_stays_pending_and_counts_as_refused() -> None:
    matches = PatternMatches()
    matches.verdict(COSTLY, "a")
    for _ in range(2):
        assert matches.verdict(COSTLY, text(0)) is Verdict.TOO_COSTLY
    assert matches.pending
    with pytest.raises(MatchesPending):
        matches.require_decided()
    matches.run_pending()
    matches.require_decided()
    assert matches.verdict(COSTLY, text(0)) is Verdict.MATCHES


async def test_long_matches_run_in_a_thread() -> None:
    threads: set[int] = set()

    class Watched(PatternMatches):
        def run_pending(self) -> None:
            threads.add(threading.get_ident())
            super().run_pending()

    async def attempt(matches: PatternMatches) -> Verdict:
        verdict = matches.verdict(COSTLY, text(0))
        matches.require_decided()
        return verdict

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "PatternMatches", Watched)
        assert await evaluate(lambda found: found.verdict(COSTLY, text(1))) is Verdict.MATCHES
        assert await repeat_while_pending(attempt) is Verdict.MATCHES
    assert threads
    assert threading.get_ident() not in threads


def test_a_stored_pattern_is_not_prepared_on_the_event_loop() -> None:
    matches = PatternMatches()
    for number in range(50):
        matches.verdict(f"[a-\uffff]{{{number}}}x*", "x")
    assert matches.pending
    matches.run_pending()
    assert matches.verdict("[a-\uffff]{1}x*", "x") is Verdict.MATCHES


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a+", None),
        ("[a-z]{1,20}", None),
        ("[\u4e00-\u9fa5]*", None),
        ("(a+)+b", MAY_TAKE_HOURS),
        ("()" * 30 + "(.)*(.)*b", None),
        ("()" * 1_300 + "(.)*(.)*b", MAY_TAKE_HOURS),
        ("(?:" + "()" * 1_000 + "a)*(.)*b", MAY_TAKE_HOURS),
        ("a" * 4_097, TOO_LARGE),
        ("[a-\uffff]*" * 5, TOO_LARGE),
        ("(?<=a*)b", "look-behind requires fixed-width pattern"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_said_when_it_is_written(
    pattern: str, problem: str | None
) -> None:
    assert pattern_problem(pattern) == problem


@given(simple, st.integers(0, 1024), st.integers(0, 3))
def test_steps_of_a_longer_text_are_never_fewer(body: str, length: int, more: int) -> None:
    prepared = patterns._prepare(f"{body}*{body}*b")
    assert isinstance(prepared, patterns._Prepared)
    assert list(prepared.steps) == sorted(prepared.steps)
    shorter, longer = "a" * max(0, length - more), "a" * length
    assert patterns._steps(prepared, shorter) <= patterns._steps(prepared, longer)


@pytest.mark.parametrize("groups", [0, 40, 100, 180])
def test_groups_that_each_choice_saves_count_as_steps(groups: int) -> None:
    pattern = "()" * groups + "(.)*(.)*b"
    prepared = patterns._prepare(pattern)
    assert isinstance(prepared, patterns._Prepared)
    begun = time.thread_time()
    assert prepared.compiled.fullmatch("a" * 512) is None
    # Five nanoseconds each, and as much again for a machine that is busy.
    assert time.thread_time() - begun < 10e-9 * patterns._steps(prepared, "a" * 512)
