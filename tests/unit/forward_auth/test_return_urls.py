"""A browser returns to URLs of its own site and to no other: a corpus of open redirects."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.forward_auth import PathPattern, Rule, Site
from gateway.forward_auth.browser import UnsafeReturnUrl, return_url
from tests.support.open_redirects import ACCEPTED, REFUSED

HOST = "app.example.test"
SITE = Site(
    name="app",
    hosts=(HOST, "wiki.example.test", "app.example.test:8443", "[2001:db8::1]"),
    realms=("staff",),
    rules=(Rule("all", (PathPattern("/*"),)),),
    client="portal",
)


@pytest.mark.parametrize("wanted", REFUSED)
def test_a_url_that_may_lead_elsewhere_is_refused(wanted: str) -> None:
    with pytest.raises(UnsafeReturnUrl) as refusal:
        return_url(SITE, HOST, wanted)
    assert "evil" not in str(refusal.value)


@pytest.mark.parametrize(("wanted", "written"), ACCEPTED.items())
def test_a_url_of_the_site_is_written_anew(wanted: str, written: str) -> None:
    assert return_url(SITE, HOST, wanted) == written


def test_the_corpus_is_large() -> None:
    assert len(set(REFUSED)) >= 150


def test_a_url_is_bounded() -> None:
    assert return_url(SITE, HOST, "/" + "a" * 1999)
    with pytest.raises(UnsafeReturnUrl):
        return_url(SITE, HOST, "/" + "a" * 2000)


_PIECES = st.sampled_from(
    [
        *("https://", "http://", "//", "/", "\\", "@", ":", "?", "#", ".", "%2f", "%5c", "%00"),
        *(
            HOST,
            "evil.example",
            "javascript:",
            "\t",
            "\n",
            "\r",
            " ",
            ";",
            "..",
            "a",
            "%",
            "é",
            "。",
        ),
    ]
)


@given(st.lists(_PIECES, max_size=8).map("".join))
def test_whatever_is_accepted_leads_to_a_host_of_the_site(wanted: str) -> None:
    try:
        url = return_url(SITE, HOST, wanted)
    except UnsafeReturnUrl:
        return
    parts = urlsplit(url)
    assert parts.scheme == "https"
    assert parts.netloc in SITE.hosts
    assert url.isascii()
    assert url.isprintable()
    assert not {" ", "\\", "#"} & set(url)
    assert not parts.path.startswith("//")
