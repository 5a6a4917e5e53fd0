"""Hosts in their one normal form, the owners of a host name, and the site of the proxy's server."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.forward_auth import (
    ForbiddenRequest,
    OriginalRequest,
    PathPattern,
    Reason,
    Rule,
    Site,
)
from gateway.domain.hosts import (
    AmbiguousTarget,
    HostOwners,
    canonical_host,
    canonical_site_host,
    is_host_of,
    proxy_server,
    without_port,
)
from gateway.forward_auth.decisions import find_rule
from gateway.forward_auth.site_table import SiteTable, settled_table
from gateway.http.forward_auth.site_less_refusals import refusal_text

SAME = [
    *("app.example.org", "APP.Example.ORG", "app.example.org:443", "aPP.example.org:443"),
]
REFUSED = [
    *(
        "app.example.org.",
        "app.example.org..",
        ".app.example.org",
        "app..example.org",
        "app.example.org:",
    ),
    *(
        "app.example.org:0443",
        "app.example.org:00443",
        "app.example.org:+443",
        "app.example.org: 443",
    ),
    *("app.example.org:0", "app.example.org:65536", "app.example.org:443:443", "app.example.org:x"),
    *(
        "app.example.org:\u0664\u0664\u0663",
        "app.example.org\t",
        " app.example.org",
        "app.example.org\0",
    ),
    *(
        "user@app.example.org",
        "app.example.org,b.example.org",
        "app_1.example.org",
        "app.example.org/",
    ),
    *(
        "https://app.example.org",
        "app%2eexample.org",
        "\uff41pp.example.org",
        "b\u00fccher.example.org",
    ),
    *("app\u3002example.org", "app.example.org#", "app.example.org?", "-app.example.org", ""),
    *("127.1", "0x7f000001", "2130706433", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "127.0.0"),
    *(
        "[::1",
        "::1",
        "[::1%25eth0]",
        "[fe80::1%eth0]",
        "[0:0:0:0:0:0:0:1]",
        "[::0001]",
        "[::127.0.0.1]",
    ),
    *("[::1]:", "[::1].", "[]", "[::1]x", "*.example.org", "*", "~^app", "_"),
]


def test_a_request_names_a_host_in_one_form_or_is_refused() -> None:
    assert {canonical_host(text) for text in SAME} == {"app.example.org"}
    assert canonical_host("app.example.org:80") == "app.example.org:80"
    assert canonical_host("app.example.org:80", "http") == "app.example.org"
    assert canonical_host("[2001:DB8::1]:443") == "[2001:db8::1]"
    for text in REFUSED:
        with pytest.raises(AmbiguousTarget):
            canonical_host(text)


_CHARACTERS = st.sampled_from(
    [*"aZ0-._:*[]@/\\%,~ \t", "\u00e9", "\u3002", "\uff0e", "app", ".org", "xn--", "443"]
)


@given(st.lists(_CHARACTERS, max_size=8).map("".join), st.sampled_from(["http", "https"]))
def test_the_normal_form_is_stable_and_holds_no_wildcard(text: str, scheme: str) -> None:
    try:
        host = canonical_host(text, scheme)
    except AmbiguousTarget:
        return
    assert canonical_host(host, scheme) == host == host.lower()
    assert "*" not in host
    assert not without_port(host).endswith((".", ":"))
    assert canonical_host(without_port(host), scheme) == without_port(host)


SERVERS = {
    "app.example.org": ("app.example.org", "app.example.org", False),
    "App.example.org:": ("app.example.org", "app.example.org", False),
    "app.example.org:443": ("app.example.org", "app.example.org", True),
    "app.example.org:8443": ("app.example.org", "app.example.org:8443", True),
    "*.example.org:8443": ("*.example.org", "*.example.org:8443", True),
    "[::1]:443": ("[::1]", "[::1]", True),
    "[::1]": ("[::1]", "[::1]", False),
}


def test_the_server_of_the_proxy_has_a_name_and_maybe_a_port() -> None:
    for text, expected in SERVERS.items():
        found = proxy_server(text, "https")
        assert (found.name, found.host, found.has_port) == expected, text
    for text in (
        "",
        ":443",
        "_:443",
        "_",
        "~^(?<name>.+)$:443",
        "*:443",
        "*.:443",
        "a b:443",
        "a::443",
    ):
        with pytest.raises(AmbiguousTarget):
            proxy_server(text, "https")


_NAMES = ("a", "b", "a.b", "x.y", "x.a.b")
_HOSTS = [
    f"{star}{name}.example.org{port}"
    for star, name, port in product(("", "*."), _NAMES, ("", ":1"))
]


def _stands_for(host: str, other: str) -> bool:
    one, two = without_port(host), without_port(other)
    return one == two or (one.startswith("*.") and two.removeprefix("*").endswith(one[1:]))


def test_two_hosts_share_an_owner_where_a_name_is_of_both() -> None:
    for one, other in product(_HOSTS, _HOSTS):
        common = _stands_for(one, other) or _stands_for(other, one)
        owners = HostOwners([(one, "first")])
        assert owners.owners(other) == ({"first"} if common else set()), (one, other)


RULES = (Rule("all", (PathPattern("/*"),)),)


def _site(name: str, realm: str, *hosts: str) -> Site:
    return Site(name, hosts, (realm,), RULES)


@given(
    of_file=st.lists(st.sampled_from(_HOSTS), max_size=2, unique=True),
    claims=st.lists(
        st.tuples(st.sampled_from(["one", "two", "three"]), st.sampled_from(_HOSTS)), max_size=6
    ),
    asked=st.sampled_from([host for host in _HOSTS if not host.startswith("*")]),
)
def test_no_order_of_rows_decides_who_has_a_host(
    of_file: list[str], claims: list[tuple[str, str]], asked: str
) -> None:
    """Of an old database: a name of two realms is refused, one of the file is the file's."""
    unique = {host: realm for realm, host in claims}
    of_realms = [
        _site(f"s{number}", realm, host) for number, (host, realm) in enumerate(unique.items())
    ]
    file_sites = [_site("file", "ops", *of_file)] if of_file else []
    table, turned = settled_table(file_sites, of_realms), settled_table(file_sites, of_realms[::-1])
    assert table.site(asked) == turned.site(asked)
    found = table.site(asked)
    owners = {
        site.realms[0] for site in of_realms if any(_stands_for(h, asked) for h in site.hosts)
    }
    reserved = any(_stands_for(host, asked) for host in of_file)
    if reserved:
        assert found is None or found.name == "file"
    elif len(owners) > 1:
        assert found is None
    else:
        assert found is None or found.realms[0] in owners


@given(
    urls=st.lists(st.sampled_from(_HOSTS), min_size=1, max_size=2, unique=True),
    hosts=st.lists(st.sampled_from(_HOSTS), max_size=5, unique=True),
    asked=st.sampled_from([host for host in _HOSTS if not host.startswith("*")]),
)
def test_no_stored_site_has_a_host_of_the_gateway(
    urls: list[str], hosts: list[str], asked: str
) -> None:
    """A realm stored the site before the gateway got the name."""
    own = [url for url in urls if not url.startswith("*")]
    of_realm = [_site(f"s{number}", "one", host) for number, host in enumerate(hosts)]
    table = settled_table([], of_realm, [f"https://{host}" for host in own])
    alone = settled_table([], of_realm)
    if any(_stands_for(host, asked) for host in own):
        assert table.site(asked) is None
    for site in of_realm:
        (host,) = site.hosts
        covers = any(_stands_for(host, name) or _stands_for(name, host) for name in own)
        assert (site in table.sites) is not covers
        assert (without_port(host) in table.contested) is covers
    assert alone.contested == {}


@pytest.mark.parametrize(
    ("domain", "realm", "outcome"),
    [
        ("example.org", "one", "refused"),
        ("apps.example.org", "one", "refused"),
        ("example.org", "ops", "kept"),
        ("example.com", "one", "kept"),
        (None, "one", "kept"),
    ],
)
def test_no_stored_site_shares_cookies_with_the_rules_file(
    domain: str | None, realm: str, outcome: str
) -> None:
    """A realm stored the site before; the wildcard of the realm does not open its host either."""
    is_refused = outcome == "refused"
    file = replace(_site("file", "ops", "wiki.example.org"), cookie_domain="example.org")
    old = replace(_site("old", realm, "a.apps.example.org"), cookie_domain=domain)
    table = settled_table([file], [old, _site("rest", realm, "*.apps.example.org")])
    name = "a.apps.example.org"
    found = find_rule(table, OriginalRequest("GET", "https", name, "/", f"{name}:443"))
    assert isinstance(found, tuple) is not is_refused
    assert (name in table.contested) is is_refused
    site = table.site(name)
    assert site is not None
    assert (site.cookie_domain is None, site.name) == (is_refused or domain is None, "old")
    assert isinstance(
        find_rule(
            table,
            OriginalRequest("GET", "https", "wiki.example.org", "/", "wiki.example.org:443"),
        ),
        tuple,
    )


def _decides(table: SiteTable, server: str, host: str, scheme: str = "https") -> str | None:
    found = find_rule(table, OriginalRequest("GET", scheme, host, "/", server))
    return found[0].name if isinstance(found, tuple) else None


def test_the_server_chooses_the_site_and_the_host_has_to_agree() -> None:
    table = SiteTable(
        [
            _site("app", "one", "app.example.org", "www.example.org"),
            _site("admin", "one", "app.example.org:8443"),
            _site("rest", "one", "*.example.org"),
            _site("other", "two", "example.com", "free.example.com:1"),
        ]
    )
    for server, host, name in (
        ("app.example.org:443", "app.example.org", "app"),
        ("app.example.org:443", "www.example.org", "app"),
        ("app.example.org:8443", "app.example.org:8443", "admin"),
        ("app.example.org:8443", "app.example.org", None),
        ("app.example.org:443", "app.example.org:8443", None),
        ("app.example.org", "app.example.org", None),
        ("app.example.org:9", "app.example.org", None),
        ("www.example.org:9", "app.example.org", "app"),
        ("www.example.org", "www.example.org", "app"),
        ("www.example.org", "www.example.org:9", None),
        ("*.example.org:443", "any.example.org", "rest"),
        ("*.example.org:443", "app.example.org", None),
        ("*.example.org:443", "example.org", None),
        ("any.example.org:443", "any.example.org", "rest"),
        ("any.example.org:443", "another.example.org", "rest"),
        ("*.b.example.org:443", "a.b.example.org", "rest"),
        ("*.example.com:443", "example.com", None),
        ("*.example.com:443", "free.example.com:1", None),
        ("free.example.com:443", "free.example.com:1", "other"),
        ("app.example.org:443", "example.com", None),
        ("elsewhere.example.net:443", "app.example.org", None),
    ):
        assert _decides(table, server, host) == name, (server, host)


def test_a_host_with_port_80_is_that_of_plain_http() -> None:
    """The hosts of sites leave out the port of https alone."""
    table = SiteTable(
        [
            _site("app", "one", "app.example.org"),
            _site("plain", "one", "app.example.org:80"),
            _site("both", "one", "both.example.org", "*.both.example.org:80"),
            _site("below", "one", "a.both.example.org"),
            _site("alone", "two", "alone.example.com:80"),
        ]
    )
    for server, host, scheme, name in (
        ("app.example.org:80", "app.example.org", "http", "plain"),
        ("app.example.org:80", "app.example.org:80", "http", "plain"),
        ("app.example.org:443", "app.example.org", "https", "app"),
        ("app.example.org:80", "app.example.org", "https", None),
        ("app.example.org:80", "app.example.org:80", "https", "plain"),
        ("app.example.org:443", "app.example.org:80", "https", None),
        ("app.example.org", "app.example.org", "http", None),
        ("both.example.org:80", "both.example.org", "http", "both"),
        ("a.both.example.org:80", "a.both.example.org", "http", "below"),
        ("b.both.example.org:80", "b.both.example.org", "http", "both"),
        ("b.both.example.org:443", "b.both.example.org", "https", None),
        ("alone.example.com:80", "alone.example.com", "http", "alone"),
        ("alone.example.com:443", "alone.example.com", "https", None),
    ):
        assert _decides(table, server, host, scheme) == name, (server, host, scheme)


def test_a_wildcard_of_a_site_is_no_host_of_a_request() -> None:
    assert canonical_site_host("*.Example.org:443") == "*.example.org"
    for hosts, host, expected in (
        (("*.example.org",), "a.example.org", True),
        (("*.example.org",), "a.b.example.org", True),
        (("*.example.org",), "example.org", False),
        (("*.example.org",), "a.example.org:1", False),
        (("*.example.org:1",), "a.example.org:1", True),
        (("a.example.org",), "b.a.example.org", False),
    ):
        assert is_host_of(hosts, host) is expected


@pytest.mark.parametrize(
    ("host", "server", "is_unclaimed"),
    [
        ("nowhere.example.org", "nowhere.example.org", True),
        ("wiki.example.org:8443", "wiki.example.org", True),
        ("wiki.example.org", "shop.example.org", False),
        ("wiki.example.org", "elsewhere.example.org", False),
        ("taken.example.org", "taken.example.org", False),
        ("a.taken.example.org", "a.taken.example.org", False),
    ],
)
def test_no_site_has_the_host_is_said_where_it_holds(
    host: str, server: str, *, is_unclaimed: bool
) -> None:
    """A host of another server of nginx, and one that two realms claim, have sites."""
    of_realms = [
        _site("wiki", "one", "wiki.example.org", "taken.example.org", "*.taken.example.org"),
        _site("shop", "two", "shop.example.org", "taken.example.org", "*.taken.example.org"),
    ]
    table = settled_table([], of_realms)
    found = find_rule(table, OriginalRequest("GET", "https", host, "/", f"{server}:443"))
    assert isinstance(found, ForbiddenRequest)
    assert (found.reason, found.is_unclaimed) == (Reason.UNKNOWN_HOST, is_unclaimed)
    text = refusal_text(found, host)
    assert (f"No protected site has the host {host}." == text.sentence) is is_unclaimed
    assert ("site at this address" in text.title) is is_unclaimed
    for name in ("wiki", "shop", "one", "two", "elsewhere"):
        if name not in host:
            assert name not in f"{text.title} {text.sentence} {text.advice}"
