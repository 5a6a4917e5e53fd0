"""The rule that decides: the first one that matches, at a cost that more rules do not raise."""

import cProfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.forward_auth import PathPattern, Rule, Site, Target
from gateway.forward_auth.site_table import SiteTable, UnknownServer


def _rule(name: str, *paths: str, methods: frozenset[str] | None = None) -> Rule:
    return Rule(name, tuple(map(PathPattern, paths)), methods)


def _found(rules: tuple[Rule, ...], path: str, method: str = "GET") -> str | None:
    table = SiteTable([Site("a", ("a.test",), ("staff",), rules)])
    rule = table.find_site("a.test", None).find_rule(Target(method, "https", "a.test", path))
    return None if rule is None else rule.name


MATCHES = {
    "/": ["/", "/*"],
    "/a": ["/a", "/a/*", "/*"],
    "/a/": ["/a/", "/a/*", "/*"],
    "/a/b": ["/a/b", "/a/b/*", "/a/*", "/*"],
    "/é x/b": ["/é x/*"],
}
MISSES = {"/": ["/a", "/a/*"], "/a": ["/", "/a/", "/a/b", "/b/*", "/A"], "/ab": ["/a", "/a/*"]}


@pytest.mark.parametrize(("path", "pattern"), [(p, x) for p, all_ in MATCHES.items() for x in all_])
def test_a_pattern_matches_its_path_or_all_below(path: str, pattern: str) -> None:
    assert _found((_rule("r", pattern),), path) == "r"


@pytest.mark.parametrize(("path", "pattern"), [(p, x) for p, all_ in MISSES.items() for x in all_])
def test_a_pattern_matches_no_other_path(path: str, pattern: str) -> None:
    assert _found((_rule("r", pattern),), path) is None


@pytest.mark.parametrize(
    "pattern", ["", "a", "*", "/a*", "/*/a", "/a//b", "/a/..", "/a;b", "//*", "/a//*", "/a%2f/\\"]
)
def test_a_pattern_that_no_path_could_match_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        PathPattern(pattern)


def test_the_order_of_rules_decides_and_not_their_length() -> None:
    assert _found((_rule("all", "/*"), _rule("one", "/a/b")), "/a/b") == "all"
    assert _found((_rule("one", "/a/b"), _rule("all", "/*")), "/a/b") == "one"
    assert _found((_rule("x", "/b", "/a/*"), _rule("y", "/a/b")), "/a/b") == "x"


def test_a_rule_of_other_methods_leaves_the_decision_to_the_next() -> None:
    rules = (_rule("write", "/a", methods=frozenset({"POST"})), _rule("read", "/a"))
    assert _found(rules, "/a", "POST") == "write"
    assert _found(rules, "/a", "GET") == "read"


def test_a_rule_for_get_is_one_for_head() -> None:
    rules = (_rule("get", "/a", methods=frozenset({"GET"})), _rule("rest", "/*"))
    assert _found(rules, "/a", "HEAD") == "get"
    assert _found((_rule("head", "/a", methods=frozenset({"HEAD"})),), "/a", "GET") is None


def test_a_rule_without_methods_decides_nothing() -> None:
    rules = (_rule("none", "/a", methods=frozenset()), _rule("rest", "/*"))
    assert _found(rules, "/a") == "rest"


def test_an_unknown_host_has_no_site() -> None:
    table = SiteTable([Site("a", ("a.test", "b.test:8443"), ("staff",), (_rule("r", "/*"),))])
    assert table.site("b.test:8443") is table.site("a.test") is not None
    assert table.site("b.test") is None
    with pytest.raises(UnknownServer):
        table.find_site("b.test", None)


def test_a_thousand_rules_cost_what_ten_do() -> None:
    """Counted in function calls, which do not depend on the machine."""

    def calls(count: int) -> int:
        rules = (
            *(_rule(str(n), f"/s/{n}", "/*", methods=frozenset({f"M{n}"})) for n in range(count)),
        )
        table = SiteTable([Site("a", ("a.test",), ("staff",), (*rules, _rule("last", "/*")))])
        profile = cProfile.Profile()
        site = table.find_site("a.test", None)
        found = profile.runcall(site.find_rule, Target("GET", "https", "a.test", "/s/7"))
        assert found is not None
        assert found.name == "last"
        return sum(entry.callcount for entry in profile.getstats())

    assert calls(1000) == calls(10)


_SEGMENTS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)
_PATTERNS = st.builds(
    lambda segments, below: "/" + "/".join([*segments, *(["*"] if below else [])]),
    _SEGMENTS,
    st.booleans(),
)


@given(st.lists(_PATTERNS, min_size=1, max_size=8), _SEGMENTS)
def test_the_trie_finds_what_a_search_one_by_one_finds(
    patterns: list[str], segments: list[str]
) -> None:
    path = "/" + "/".join(segments)
    rules = tuple(_rule(str(place), pattern) for place, pattern in enumerate(patterns))
    one_by_one = (str(place) for place, text in enumerate(patterns) if _covers(text, path))
    assert _found(rules, path) == next(one_by_one, None)


def _covers(pattern: str, path: str) -> bool:
    if not pattern.endswith("/*"):
        return pattern == path
    above = pattern.removesuffix("/*")
    return path == above or path.startswith(f"{above}/")
