"""The headers that only the proxy may set, in their one spelling. Attacks A4."""

import pytest

from gateway.http.certificate_lookup import LookupOptions, NginxLookup
from gateway.http.edge import EdgeHeaderReader

READER = EdgeHeaderReader(NginxLookup().headers)


def test_a_header_once_is_a_value() -> None:
    headers = READER.read_headers([(b"ssl-client-cert", b"A"), (b"authorization", b"Basic x")])
    assert headers.text(b"ssl-client-cert") == "A"
    assert headers.text(b"authorization") == "Basic x"
    assert headers.ambiguous is None


@pytest.mark.parametrize(
    "name",
    [
        b"ssl-client-cert",
        b"ssl-client-verify",
        b"x-forwarded-for",
        b"x-forwarded-proto",
        b"x-request-id",
        b"authorization",
        b"content-type",
    ],
)
def test_a_header_twice_is_ambiguous(name: bytes) -> None:
    assert READER.read_headers([(name, b"A"), (name, b"A")]).ambiguous == name


@pytest.mark.parametrize(
    "name", [b"ssl_client_cert", b"ssl-client_cert", b"ssl_client_verify", b"x_forwarded_for"]
)
def test_an_underscored_spelling_is_ambiguous_even_alone(name: bytes) -> None:
    headers = READER.read_headers([(name, b"A")])
    assert headers.ambiguous == name
    assert headers.text(b"ssl-client-cert") is None


def test_underscores_elsewhere_mean_nothing() -> None:
    assert READER.read_headers([(b"my_header", b"A"), (b"my_header", b"B")]).ambiguous is None


def test_the_certificate_header_has_the_configured_name() -> None:
    lookup = NginxLookup(LookupOptions(header="X-Client-Cert"))
    headers = EdgeHeaderReader(lookup.headers).read_headers([(b"x-client-cert", b"A")])
    assert headers.text(b"x-client-cert") == "A"


def test_a_list_that_is_sent_in_parts_is_one_list() -> None:
    headers = READER.read_headers([(b"accept", b"a/b"), (b"accept", b"c/d")])
    assert headers.text(b"accept") == "a/b,c/d"
    assert headers.ambiguous is None
