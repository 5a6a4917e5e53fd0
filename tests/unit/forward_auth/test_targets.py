"""Requests that a proxy and a service read alike, and those that are refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.forward_auth import OriginalRequest, target_of
from gateway.domain.hosts import AmbiguousTarget, canonical_host

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("request_targets.jsonl").read_text().splitlines()
]


def _path(uri: str) -> str | None:
    try:
        return target_of(OriginalRequest("GET", "https", "app.example.test", uri)).path
    except AmbiguousTarget:
        return None


def test_every_row_of_the_corpus_is_read_as_expected() -> None:
    assert {row["uri"]: _path(row["uri"]) for row in ROWS} == {
        row["uri"]: row["path"] for row in ROWS
    }
    assert len(ROWS) > 200


@given(st.text(max_size=40) | st.text("/.%25eEfF;\\?#a \x00", max_size=20))
def test_a_path_that_is_read_cannot_be_read_in_another_way(uri: str) -> None:
    path = _path(uri)
    if path is None:
        return
    assert path.startswith("/")
    assert "//" not in path
    segments = path.split("/")
    assert not {".", ".."}.intersection(segments)
    assert not set("\\;#?").intersection(path)
    assert path.isprintable()
    assert _path(uri.partition("?")[0]) == path


@given(st.lists(st.text("abz019-_~", min_size=1), max_size=4), st.booleans())
def test_a_plain_path_is_itself(segments: list[str], slash: bool) -> None:  # noqa: FBT001
    path = "/" + "/".join(segments) + ("/" if slash and segments else "")
    assert _path(path) == path


@given(st.text("abc/é€ ", max_size=20))
def test_encoding_an_encodable_character_changes_nothing(text: str) -> None:
    encoded = "/" + "".join(
        character if character == "/" else "".join(f"%{byte:02x}" for byte in character.encode())
        for character in text
    )
    assert _path(encoded) in {None, f"/{text}"}


HOSTS = {
    "app.example.test": "app.example.test",
    "APP.Example.TEST": "app.example.test",
    "app.example.test:443": "app.example.test",
    "app.example.test:8443": "app.example.test:8443",
    "localhost": "localhost",
    "xn--bcher-kva.example": "xn--bcher-kva.example",
    "192.0.2.1": "192.0.2.1",
    "192.0.2.1:80": "192.0.2.1:80",
    "[2001:db8::1]": "[2001:db8::1]",
    "[2001:db8::1]:443": "[2001:db8::1]",
    "1and1.example": "1and1.example",
    "a-b.example": "a-b.example",
}
NO_HOSTS = (
    *("", " ", ".", "..", "app.example.test.", ".example.test", "app..test", "-a.test", "a-.test"),
    *("a_b.test", "a b.test", "a/b", "a?b", "a#b", "a@b", "user@app.example.test", "a%2eb", "a,b"),
    *("app.example.test:", "app.example.test:0", "app.example.test:080", "app.example.test:65536"),
    *("app.example.test:x", "app.example.test:-1", "app.example.test:443:443", "bücher.example"),
    *("127.1", "0x7f.1", "0x7f000001", "2130706433", "1.2.3.4.5", "192.0.2.256", "192.0.02.1"),
    *("[::1", "::1", "[::1]x", "[0:0::1]", "[::ffff:1.2.3.4%25eth0]", "[1.2.3.4]", f"{'a' * 64}.b"),
    *(
        "app.example.test\n",
        "app.example.test\x00",
        "a" * 254,
        "*.example.test",
        "\N{FULLWIDTH LATIN SMALL LETTER A}pp.example.test",
    ),
)


@pytest.mark.parametrize(("host", "canonical"), HOSTS.items())
def test_hosts_compare_in_lower_case_without_the_default_port(host: str, canonical: str) -> None:
    assert canonical_host(host, "https") == canonical
    assert target_of(OriginalRequest("GET", "https", host, "/")).host == canonical


@pytest.mark.parametrize("host", NO_HOSTS)
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(AmbiguousTarget):
        canonical_host(host)


def test_the_port_of_plain_http_is_that_of_plain_http() -> None:
    assert canonical_host("a.test:80", "http") == "a.test"
    assert canonical_host("a.test:443", "http") == "a.test:443"


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "POST", "PROPFIND", "M-SEARCH", "VERSION-CONTROL"]
)
def test_methods_are_tokens_in_upper_case(method: str) -> None:
    assert target_of(OriginalRequest(method, "https", "a.test", "/")).method == method


@pytest.mark.parametrize(
    "method", ["", "get", "Get", "GET ", "G ET", "GET\n", "GÉT", "A" * 33, "(A)"]
)
def test_other_methods_are_refused(method: str) -> None:
    with pytest.raises(AmbiguousTarget):
        target_of(OriginalRequest(method, "https", "a.test", "/"))


@pytest.mark.parametrize("scheme", ["", "HTTPS", "ftp", "https:", "wss", "https,http"])
def test_other_schemes_are_refused(scheme: str) -> None:
    with pytest.raises(AmbiguousTarget):
        target_of(OriginalRequest("GET", scheme, "a.test", "/"))


def test_a_refusal_repeats_nothing_of_the_request() -> None:
    with pytest.raises(AmbiguousTarget) as refusal:
        target_of(OriginalRequest("GET", "https", "a.test", "/secret-value/%2e%2e/"))
    assert "secret-value" not in str(refusal.value)
