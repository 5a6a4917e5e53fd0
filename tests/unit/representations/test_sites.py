"""Protected sites and their rules: what is taken, what is refused, and how it is written back."""

import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.errors import InvalidInput
from gateway.domain.forward_auth import (
    AcceptedCredential,
    BearerAudience,
    PathPattern,
    Requirements,
    Rule,
    Site,
    Target,
)
from gateway.forward_auth.site_table import SiteTable
from gateway.representations.site_rules import unreachable_rules
from gateway.representations.sites import (
    MOST_SITES,
    check_site,
    parse_realm_sites,
    parse_rules_file,
    parse_site,
    render_site,
    with_bearer_audience,
)
from tests.support.stored_documents import restored_site

SITE: dict[str, Any] = {
    "name": "wiki",
    "hosts": ["wiki.example.org", "wiki.example.org:8443"],
    "client": "wiki",
    "audience": "https://wiki.internal",
    "cookieDomain": "example.org",
    "rules": [
        {"name": "health", "paths": ["/health"], "methods": ["GET"], "anonymous": True},
        {
            "name": "admin",
            "paths": ["/admin/*", "/café"],
            "realmRoles": ["admin"],
            "clientRoles": ["wiki/editor", "https://api/x/editor"],
            "scopes": ["wiki"],
            "groups": ["/staff/juniors"],
            "clients": ["press-7"],
            "certificates": ["subject:CN=device-1,O=Example", "dns:*.example.org"],
            "accepts": ["bearer", "certificate"],
            "boundOnly": True,
        },
        {"name": "rest", "paths": ["/*"]},
    ],
}
FILE = """
    [[sites]]
    name = "wiki"
    hosts = ["wiki.example.org"]
    realms = ["demo", "other"]
    cookie_domain = "example.org"
    client = "wiki"

    [[sites.rules]]
    name = "health"
    paths = ["/health"]
    anonymous = true

    [[sites.rules]]
    name = "machines"
    paths = ["/api/*"]
    accepts = ["certificate"]
    realm_roles = ["device"]
"""


def rule(**fields: Any) -> dict[str, Any]:
    return {"name": "r", "paths": ["/*"], **fields}


def site(*rules: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"name": "s", "hosts": ["s.example.org"], "rules": list(rules), **fields}


def errors_of(document: Any) -> list[str]:
    with pytest.raises(InvalidInput) as refusal:
        parse_site(document, realm="demo")
    return [str(error) for error in refusal.value.errors]


def errors_of_file(text: str | bytes) -> list[str]:
    content = text if isinstance(text, bytes) else textwrap.dedent(text).encode()
    with pytest.raises(InvalidInput) as refusal:
        parse_rules_file(content, "rules.toml")
    return [str(error) for error in refusal.value.errors]


def test_a_site_is_written_as_it_was_given() -> None:
    new = with_bearer_audience(parse_site(SITE, realm="demo"), None)
    assert render_site(new) == SITE


def test_a_site_of_a_realm_trusts_that_realm_alone() -> None:
    assert parse_site(SITE, realm="demo").realms == ("demo",)
    assert errors_of(site(realms=["demo", "master"])) == ["realms: a site has no such field"]


def test_a_rule_accepts_every_credential_unless_limited() -> None:
    parsed = parse_site(SITE, realm="demo")
    _, admin, rest = parsed.rules
    assert admin.requirements == Requirements(
        realm_roles=("admin",),
        client_roles=("wiki/editor", "https://api/x/editor"),
        scopes=("wiki",),
        groups=("/staff/juniors",),
        clients=("press-7",),
        certificates=("subject:CN=device-1,O=Example", "dns:*.example.org"),
    )
    assert admin.accepts == {AcceptedCredential.BEARER, AcceptedCredential.CERTIFICATE}
    assert admin.bound_only
    assert rest == Rule("rest", (PathPattern("/*"),))
    assert rest.accepts == set(AcceptedCredential)


def test_a_file_has_snake_case_names_and_several_realms() -> None:
    (found,) = parse_rules_file(textwrap.dedent(FILE).encode(), "rules.toml")
    assert found == Site(
        name="wiki",
        hosts=("wiki.example.org",),
        realms=("demo", "other"),
        rules=(
            Rule("health", (PathPattern("/health"),), anonymous=True),
            Rule(
                "machines",
                (PathPattern("/api/*"),),
                requirements=Requirements(realm_roles=("device",)),
                accepts=frozenset({AcceptedCredential.CERTIFICATE}),
            ),
        ),
        client="wiki",
        cookie_domain="example.org",
    )


def test_hosts_are_compared_in_one_spelling() -> None:
    hosts = ["Wiki.Example.org:443", "[::1]:8443", "10.0.0.1", "*.Apps.example.org:443"]
    parsed = parse_site(site(hosts=hosts), realm="demo")
    assert parsed.hosts == ("wiki.example.org", "[::1]:8443", "10.0.0.1", "*.apps.example.org")
    twice = site(hosts=["a.example.org", "A.example.org:443"])
    assert errors_of(twice) == ['hosts: "a.example.org" twice given, each of them once expected']


@pytest.mark.parametrize(
    "host",
    [
        *("*", "*.", "*.org", "a.*.org", "*.*.org", "*a.example.org", "*.10.0.0.1", "*.[::1]"),
        *("https://a.org", "a..b", "a/b", "a b", "a:0", "a:70000", "", 5),
        *("caf\u00e9.org", "[::1", "010.0.0.1", "a.org:", "-a.org", "user@a.org", "a.org?x"),
        "x" * 300,
    ],
)
def test_what_names_no_host_is_refused(host: Any) -> None:
    assert len(errors_of(site(hosts=[host]))) == 1


@pytest.mark.parametrize(
    "path",
    [
        *("admin", "", "/a/../b", "/./a", "/a//b", "//", "/a*", "/*/a", "/a/*/b", "/a;b"),
        *("/a\\b", "/%41", "/a?b", "/a#b", "/a\0b", "/a\nb", "/ a", "*", "/**", 1, None),
        "/" + "a" * 1001,
    ],
)
def test_what_is_no_normalized_path_is_refused(path: Any) -> None:
    assert len(errors_of(site(rule(paths=[path])))) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"paths": []},
        {"paths": "/*"},
        {"methods": []},
        {"methods": ["get"]},
        {"methods": ["GET", "GET"]},
        {"methods": ["G ET"]},
        {"anonymous": "perhaps"},
        {"realmRoles": []},
        {"realmRoles": [""]},
        {"realmRoles": ["x" * 256]},
        {"clientRoles": ["editor"]},
        {"clientRoles": ["/editor"]},
        {"clientRoles": ["wiki/"]},
        {"scopes": ["a b"]},
        {"groups": ["staff"]},
        {"groups": ["/staff/"]},
        {"groups": ["/"]},
        {"certificates": ["CN=device-1"]},
        {"certificates": ["subject:device-1"]},
        {"certificates": ["sha256:short"]},
        {"certificates": ["dns:*"]},
        {"accepts": []},
        {"accepts": ["token"]},
        {"name": ""},
        {"name": "a b"},
        {"name": "../x"},
        {"role": ["a"]},
        {"realm_roles": ["a"], "realmRoles": ["a"]},
        {"realmRoles": [f"r{number}" for number in range(101)]},
    ],
)
def test_a_wrong_field_of_a_rule_is_refused_with_its_place(fields: dict[str, Any]) -> None:
    (error,) = errors_of(site(rule(**fields)))
    assert error.startswith("rules[0].")


@pytest.mark.parametrize(
    "fields",
    [
        {"realmRoles": ["a"]},
        {"certificates": ["dns:a.org"]},
        {"accepts": ["bearer"]},
        {"boundOnly": True},
        {"audiences": ["a"]},
    ],
)
def test_an_anonymous_rule_that_requires_something_is_refused(fields: dict[str, Any]) -> None:
    (error,) = errors_of(site(rule(anonymous=True, **fields)))
    assert "an anonymous rule lets every caller pass" in error


def test_requiring_bound_tokens_without_tokens_is_refused() -> None:
    (error,) = errors_of(site(rule(accepts=["session"], boundOnly=True), client="c"))
    assert error.startswith("rules[0].boundOnly: it is about bearer tokens")


def test_audiences_where_no_token_is_accepted_are_refused() -> None:
    (error,) = errors_of(site(rule(accepts=["session"], audiences=["a"]), client="c"))
    assert error.startswith("rules[0].audiences: it is about bearer tokens")


def test_tokens_alone_at_a_site_that_no_token_is_for_are_refused() -> None:
    tokens = rule(accepts=["bearer"])
    (error,) = errors_of(site(tokens, bearerAudience="site"))
    assert error.startswith("rules[0].audiences: it accepts bearer tokens alone")
    parse_site(site(tokens, bearerAudience="any"), realm="demo")
    parse_site(site(tokens, bearerAudience="site", client="c"), realm="demo")
    parse_site(site(tokens | {"audiences": ["a"]}, bearerAudience="site"), realm="demo")


def test_a_new_site_expects_its_audience_a_stored_one_its_choice() -> None:
    """Read as new, each document that an export has means the same again."""
    given = parse_site(site(rule(), client="c"), realm="demo")
    new = with_bearer_audience(given, None)
    assert (given.bearer_audience, new.bearer_audience) == (None, BearerAudience.SITE)
    for stored in (given, new, replace(new, bearer_audience=BearerAudience.ANY)):
        assert with_bearer_audience(given, stored).bearer_audience is stored.bearer_audience
        assert with_bearer_audience(new, stored).bearer_audience is BearerAudience.SITE
        assert check_site(restored_site(stored)) == stored
        imported = with_bearer_audience(parse_site(render_site(stored), realm="demo"), None)
        assert imported.bearer_audience is (stored.bearer_audience or BearerAudience.ANY)


def test_choices_of_bearer_tokens_are_written_as_given() -> None:
    document = site(
        rule(audiences=["a", "https://b"]),
        client="c",
        bearerAudience="any",
        forwardAuthorization=False,
    )
    assert render_site(parse_site(document, realm="demo")) == document
    assert errors_of(document | {"bearerAudience": "none"}) == [
        'bearerAudience: "none" given, one of site, any expected'
    ]


def test_sessions_alone_at_a_site_without_sign_in_are_refused() -> None:
    (error,) = errors_of(site(rule(accepts=["session"])))
    assert error.startswith("rules[0].accepts: it accepts sessions alone")
    parse_site(site(rule(accepts=["session"]), client="wiki"), realm="demo")


@pytest.mark.parametrize(
    ("domain", "hosts"),
    [
        ("example.org", ["a.example.com"]),
        ("example.org", ["a.example.org", "badexample.org"]),
        ("org", ["a.example.org"]),
        (".example.org", ["a.example.org"]),
        ("a.example.org", ["example.org"]),
        ("0.0.1", ["10.0.0.1"]),
    ],
)
def test_a_cookie_domain_contains_every_host(domain: str, hosts: list[str]) -> None:
    assert errors_of(site(hosts=hosts, client="c", cookieDomain=domain))
    parse_site(site(client="c", cookieDomain="s.example.org"), realm="demo")


def test_a_cookie_domain_without_sign_in_is_refused() -> None:
    assert errors_of(site(cookieDomain="example.org"))


def test_names_of_rules_differ() -> None:
    assert errors_of(site(rule(paths=["/a"]), rule(paths=["/b"]))) == [
        'rules: "r" twice given, a name of its own a rule expected'
    ]


def test_a_rule_that_a_wider_one_before_it_hides_is_refused() -> None:
    wide, narrow = rule(name="all"), rule(name="admin", paths=["/admin/*"], realmRoles=["admin"])
    (error,) = errors_of(site(wide, narrow))
    assert error.startswith("rules[1]: no request reaches it, since all comes before it")
    parse_site(site(narrow, wide), realm="demo")


@pytest.mark.parametrize(
    ("before", "after", "hidden"),
    [
        (rule(methods=["GET"]), rule(), False),
        (rule(methods=["GET"]), rule(methods=["HEAD"]), True),
        (rule(methods=["GET"]), rule(methods=["GET", "POST"]), False),
        (rule(paths=["/a"]), rule(paths=["/a/*"]), False),
        (rule(paths=["/a/*"]), rule(paths=["/a"]), True),
        (rule(paths=["/a/*"]), rule(paths=["/ab"]), False),
        (rule(paths=["/a/*"]), rule(paths=["/a/b", "/c"]), False),
        (rule(paths=["/a/*", "/c"]), rule(paths=["/a/b", "/c"]), True),
        (rule(paths=["/"]), rule(), False),
    ],
)
def test_only_a_rule_that_never_decides_is_hidden(
    before: dict[str, Any], after: dict[str, Any], *, hidden: bool
) -> None:
    document = site({**before, "name": "before"}, {**after, "name": "after"})
    if hidden:
        assert len(errors_of(document)) == 1
    else:
        parse_site(document, realm="demo")


_SEGMENTS = st.sampled_from(["a", "b", "ab"])
_PATHS = st.lists(_SEGMENTS, max_size=3).map(lambda found: "/" + "/".join(found))
_PATTERNS = st.tuples(_PATHS, st.booleans()).map(
    lambda found: PathPattern(found[0].rstrip("/") + "/*" if found[1] else found[0])
)
_METHODS = st.none() | st.frozensets(st.sampled_from(["GET", "HEAD", "POST"]), min_size=1)
_RULES = st.lists(st.tuples(st.lists(_PATTERNS, min_size=1, max_size=3), _METHODS), max_size=5)


@given(_RULES, _PATHS, st.sampled_from(["GET", "HEAD", "POST", "PUT"]))
def test_no_request_is_decided_by_an_unreachable_rule(
    drawn: list[tuple[list[PathPattern], frozenset[str] | None]], path: str, method: str
) -> None:
    rules = tuple(
        Rule(str(place), tuple(paths), methods) for place, (paths, methods) in enumerate(drawn)
    )
    table = SiteTable((Site("s", ("s",), ("demo",), rules),))
    decides = table.find_site("s", None).find_rule(Target(method, "https", "s", path))
    hidden = {rules[place].name for place, _ in unreachable_rules(rules)}
    assert decides is None or decides.name not in hidden


def test_all_errors_of_a_site_are_reported_together() -> None:
    wrong = site(rule(paths=["a"], accepts=["b"]), name="a b", hosts=["*"], rule=[])
    assert [error.partition(": ")[0] for error in errors_of(wrong)] == [
        *("rule", "name", "hosts[0]", "rules[0].paths[0]", "rules[0].accepts[0]"),
    ]
    assert len(errors_of({})) == len(("name", "hosts"))
    assert errors_of([]) == ["site: a list of 0 given, an object expected"]


def test_sites_of_a_realm_are_bounded_and_unique() -> None:
    one = site()
    with pytest.raises(InvalidInput, match=r'"s" twice.*"s\.example\.org" twice'):
        parse_realm_sites([one, one], "guardSites", "demo")
    many = [site(name=f"s{each}", hosts=[f"h{each}"]) for each in range(MOST_SITES + 1)]
    with pytest.raises(InvalidInput, match="at most 100 sites"):
        parse_realm_sites(many, "guardSites", "demo")
    assert len(parse_realm_sites(many[1:], "guardSites", "demo")) == MOST_SITES


def test_a_file_that_is_no_toml_is_refused_with_its_line() -> None:
    (error,) = errors_of_file('[[sites]]\nname = "a"\nhosts = [\n')
    assert error.startswith("rules.toml: the file: not TOML")
    (error,) = errors_of_file('a = "\n')
    assert "line 1" in error


@pytest.mark.parametrize(
    "content",
    [
        *(b"\xff", b"a=" + b"[" * 9000, b"a = " + b"1" * 9000, b"#" * (4 * 1024 * 1024 + 1)),
        b"sites" + b".a" * 2000 + b" = 1",
    ],
)
def test_a_costly_file_or_one_that_is_no_text_is_refused(content: bytes) -> None:
    assert errors_of_file(content)


def test_every_error_of_a_file_is_reported_with_its_place() -> None:
    text = """
        site = 1
        [[sites]]
        name = 2020-01-01
        hosts = ["*"]
        realms = []
        [[sites]]
        name = "b"
        hosts = ["b.example.org"]
        realms = ["demo"]
        [[sites.rules]]
        name = "r"
        path = ["/*"]
    """
    assert [error.partition(": ")[2].partition(": ")[0] for error in errors_of_file(text)] == [
        *("sites[0].name", "site", "sites[0].hosts[0]", "sites[0].realms"),
        *("sites[1].rules[0].path", "sites[1].rules[0].paths"),
    ]


def test_sites_of_a_file_share_no_name_and_no_host() -> None:
    errors = errors_of_file(textwrap.dedent(FILE) * 2)
    assert [error.partition(" given")[0] for error in errors] == [
        'rules.toml: sites: "wiki" twice',
        'rules.toml: sites: "wiki.example.org" twice',
    ]


def test_an_empty_file_protects_nothing() -> None:
    assert parse_rules_file(b"", "rules.toml") == ()


def test_the_example_is_valid() -> None:
    example = Path(__file__).parents[3] / "docs/examples/rules.toml"
    wiki, machines = parse_rules_file(example.read_bytes(), example.name)
    assert [rule.name for rule in wiki.rules] == [
        *("health", "administration", "reading", "writing"),
    ]
    assert machines.realms == ("demo", "plants")
