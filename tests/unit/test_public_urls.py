"""The public URL is host, port and path alone: it stands in every issuer. RFC 3986 §3."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.hosts import public_url


@pytest.mark.parametrize(
    "url",
    [
        "https://localhost:8443",
        "http://127.0.0.1",
        "https://[::1]:8443/auth",
        "https://id.example.org/some/path",
        "https://gateway_1.internal:1",
    ],
)
def test_an_address_is_taken_as_it_is_without_the_last_slash(url: str) -> None:
    assert public_url(url) == url
    assert public_url(url + "/") == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost",
        "ftp://host",
        "https://",
        "https://host:0",
        "https://host:65536",
        "https://host:port",
        "https://user:canary@host",
        "https://host?x",
        "https://host#x",
        "https://host/a b",
        "https://host//a",
        'https://host/"',
        "https://host\r\nX: y",
        "https://host/\n",
        "https://-host",
        "https://host/%zz",
        "https://h\u00f6st",
    ],
)
def test_anything_else_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(ValueError, match=r"^an? .*(address|port)") as refused:
        public_url(url)
    assert not url or url not in str(refused.value)


@given(st.text())
def test_an_accepted_url_has_no_character_that_could_break_out(text: str) -> None:
    try:
        accepted = public_url("https://host" + text)
    except ValueError:
        return
    assert accepted.isascii()
    assert accepted.isprintable()
    assert not set(accepted) & set('"<>\\^`{|} ')
