"""`$ssl_client_escaped_cert` is read strictly: one certificate, or an error that says why."""

import base64
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.certificates import ProxyVerdict
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.certificate_lookup import LOOKUPS, LookupOptions

# Every base64 digit, the ones that URL-encoding touches among them.
DER = bytes(range(256)) * 3 + b"\xfb\xef\xbe\xff\xff"

LOOKUP = LOOKUPS["nginx"]()


def lookup(value: bytes) -> bytes | None:
    found = LOOKUP.find_certificate({b"ssl-client-cert": value})
    return None if found is None else found.leaf


def pem(der: bytes = DER, line_end: str = "\n") -> str:
    encoded = base64.b64encode(der).decode()
    lines = [encoded[index : index + 64] for index in range(0, len(encoded), 64)]
    return line_end.join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])


ESCAPED = quote(pem(), safe="")


@pytest.mark.parametrize(
    "value",
    [
        ESCAPED,
        quote(pem(), safe="/="),
        quote(pem(), safe="+/="),
        quote(pem(line_end="\r\n"), safe=""),
        ESCAPED.removesuffix("%0A"),
        f'"{ESCAPED}"',
    ],
    ids=["nginx", "slash plain", "plus plain", "CRLF", "no last newline", "quoted"],
)
def test_one_escaped_certificate_is_decoded(value: str) -> None:
    """Keycloak 11.1: surrounding quotes are stripped; a raw `+` means itself."""
    assert lookup(value.encode()) == DER


@pytest.mark.parametrize("value", [b"", b'""'])
def test_an_empty_value_is_no_certificate(value: bytes) -> None:
    """Nginx sends an empty variable when the client has no certificate; the header is dropped."""
    assert lookup(value) is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (quote_plus(pem()), "not one URL-encoded PEM"),
        (ESCAPED.replace("%2B", "%20"), "not clean base64"),
        (ESCAPED.replace("%2B", " "), "not clean base64"),
        (ESCAPED.replace("%2B", "%2"), "percent sign"),
        (ESCAPED.replace("%2B", "%zz"), "percent sign"),
        (quote(ESCAPED), "not one URL-encoded PEM"),
        (ESCAPED + ESCAPED, "not clean base64"),
        (ESCAPED + "junk", "not one URL-encoded PEM"),
        ("junk" + ESCAPED, "not one URL-encoded PEM"),
        (" " + ESCAPED, "not one URL-encoded PEM"),
        (ESCAPED[: ESCAPED.index("%0A", 400)], "not one URL-encoded PEM"),
        (f'"{ESCAPED}', "not one URL-encoded PEM"),
        (f'""{ESCAPED}""', "not one URL-encoded PEM"),
        (quote(pem(b"")), "empty"),
        (quote("-----BEGIN CERTIFICATE-----END CERTIFICATE-----"), "empty"),
        (quote("-----BEGIN CERTIFICATE-----"), "not one URL-encoded PEM"),
        (quote(pem().replace("=", "")), "not clean base64"),
        (quote(pem().replace("=", "==")), "not clean base64"),
        (quote(pem(b"abc").replace("YWJj", "YWJj=")), "not clean base64"),
        (quote(pem(b"a").replace("YQ==", "YZ==")), "not clean base64"),
        (quote(pem(b"abc").replace("YWJj", "YWJj====")), "not clean base64"),
        (quote(pem().replace("A", "\t", 1)), "not one URL-encoded PEM"),
        (quote(pem().replace("AAEC", "AA\nE C")), "not clean base64"),
        (quote(pem().replace("CERTIFICATE", "PRIVATE KEY")), "not one URL-encoded PEM"),
        (base64.b64encode(DER).decode(), "not one URL-encoded PEM"),
        ("(null)", "not one URL-encoded PEM"),
        ("%00", "not one URL-encoded PEM"),
        (quote(pem(bytes(50_000))), "header of"),
    ],
)
def test_anything_else_is_an_error(value: str, reason: str) -> None:
    """Attack A18: bad escapes, `+` as space, two PEMs, junk and cut-off text are all noticed."""
    with pytest.raises(MalformedCertificate, match=reason) as caught:
        lookup(value.encode())
    assert "QUJD" not in str(caught.value)


@given(st.binary(max_size=400) | st.text('-BEGINCRTFA %20+/="\n', max_size=200).map(str.encode))
def test_no_value_whatever_raises_another_error(value: bytes) -> None:
    """Attack A18: never a 500."""
    try:
        lookup(value)
    except MalformedCertificate:
        return


@given(st.integers(0, len(ESCAPED) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_a_mutated_certificate_is_refused_or_decoded(at: int, put: bytes, cut: int) -> None:
    """Attack A18: mutations of a real header stay within the one documented error."""
    value = ESCAPED.encode()
    try:
        der = lookup(value[:at] + put + value[at + cut :])
    except MalformedCertificate:
        return
    assert der


@given(st.binary(min_size=1, max_size=2000))
def test_any_der_survives_the_way_through_the_header(der: bytes) -> None:
    assert lookup(quote(pem(der), safe="").encode()) == der


@pytest.mark.parametrize("unit", [b"%41", b"%", b"A", b"-----BEGIN CERTIFICATE-----", b"%0A", b'"'])
def test_the_largest_hostile_header_is_refused(unit: bytes) -> None:
    """Attack A18."""
    value = (unit * (64 * 1024 // len(unit)))[: 64 * 1024]
    with pytest.raises(MalformedCertificate):
        lookup(value)


def test_every_lookup_is_registered_under_its_keycloak_id() -> None:
    """Keycloak 11.1: the provider ids are what operators configure."""
    assert list(LOOKUPS) == ["nginx", "haproxy", "apache", "envoy", "traefik", "rfc9440"]


@pytest.mark.parametrize(
    ("value", "verdict", "reason"),
    [
        (b"SUCCESS", ProxyVerdict.VERIFIED, None),
        (b"FAILED:certificate revoked", ProxyVerdict.FAILED, "certificate revoked"),
        (b"FAILED:", ProxyVerdict.FAILED, ""),
        (b"FAILED:self-signed certificate \xff", ProxyVerdict.FAILED, "self-signed certificate ÿ"),
        (b"NONE", ProxyVerdict.NONE, None),
        (b"success", ProxyVerdict.NONE, None),
        (b"SUCCESS ", ProxyVerdict.NONE, None),
        (b"", ProxyVerdict.NONE, None),
        (None, ProxyVerdict.NONE, None),
    ],
)
def test_the_verdict_is_reported_in_neutral_words(
    value: bytes | None, verdict: ProxyVerdict, reason: str | None
) -> None:
    """Attack A6: only the exact word counts as verified."""
    headers = {b"ssl-client-cert": ESCAPED.encode()}
    if value is not None:
        headers[b"ssl-client-verify"] = value
    found = LOOKUP.find_certificate(headers)
    assert found is not None
    assert (found.verdict, found.reason, found.chain) == (verdict, reason, ())


def test_a_verdict_alone_is_no_certificate() -> None:
    assert LOOKUP.find_certificate({b"ssl-client-verify": b"SUCCESS"}) is None


def test_the_certificate_is_read_from_the_configured_header() -> None:
    other = LOOKUPS["nginx"](LookupOptions(header="X-Client-Cert"))
    assert other.headers == {b"x-client-cert", b"ssl-client-verify"}
    found = other.find_certificate({b"x-client-cert": ESCAPED.encode()})
    assert found is not None
    assert found.leaf == DER
    assert other.find_certificate({b"ssl-client-cert": ESCAPED.encode()}) is None
