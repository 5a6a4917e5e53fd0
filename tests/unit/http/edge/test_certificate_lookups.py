"""Each dialect is read strictly: a leaf with a bounded chain, none, or an error that says why."""

import base64
import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.certificates import ProxyVerdict
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.certificate_lookup import (
    EVERY_DEFAULT_HEADER,
    LOOKUPS,
    CertificateLookup,
    LookupOptions,
)
from gateway.http.edge import EdgeHeaderReader
from tests.support.spellings import spellings


def der(fill: int, size: int = 300) -> bytes:
    """Return a DER sequence with every base64 digit, of this length."""
    return b"\x30\x82" + size.to_bytes(2, "big") + (bytes([fill]) + bytes(range(255)) * 40)[:size]


A_MOMENT = 0.1
"""Seconds of one processor; a quadratic decoder takes several seconds."""
LEAF, FIRST, SECOND = der(1), der(2, 700), der(3, 256)
PREFIX = LookupOptions(chain_prefix="cert-chain", chain_length=2)


def base(*certificates: bytes) -> str:
    return base64.b64encode(b"".join(certificates)).decode()


def pem(certificate: bytes, line_end: str = "\n") -> str:
    text = base(certificate)
    lines = [text[index : index + 64] for index in range(0, len(text), 64)]
    return line_end.join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])


def escaped(*certificates: bytes) -> str:
    return quote("".join(map(pem, certificates)), safe="")


FOLDED = pem(LEAF, " ")
HASH = hashlib.sha256(LEAF).hexdigest()
XFCC = f'By=spiffe://a/b;Hash={HASH};Subject="CN=a;b,\\"c\\"";Chain="{escaped(LEAF, FIRST)}"'


def found(lookup: CertificateLookup, **headers: str) -> tuple[bytes, ...] | None:
    """Return leaf and chain; the headers are written with `__` for `-`."""
    sent = {name.replace("__", "-").encode(): value.encode() for name, value in headers.items()}
    forwarded = lookup.find_certificate(sent)
    return None if forwarded is None else (forwarded.leaf, *forwarded.chain)


READ: Mapping[str, list[tuple[LookupOptions, dict[str, str], tuple[bytes, ...] | None]]] = {
    "nginx": [
        (LookupOptions(), {"ssl__client__cert": escaped(LEAF)}, (LEAF,)),
        (LookupOptions(url_encoded=False), {"ssl__client__cert": pem(LEAF, "\t")}, (LEAF,)),
        (
            PREFIX,
            {"ssl__client__cert": escaped(LEAF), "cert__chain_1": escaped(FIRST)},
            (LEAF, FIRST),
        ),
        (LookupOptions(header="x-cert"), {"x__cert": escaped(LEAF)}, (LEAF,)),
    ],
    "haproxy": [
        (LookupOptions(), {"ssl__client__cert": base(LEAF)}, (LEAF,)),
        (LookupOptions(), {"ssl__client__cert": FOLDED}, (LEAF,)),
        (
            LookupOptions(chain_header="ssl-cert-chain", chain_length=2),
            {"ssl__client__cert": base(LEAF), "ssl__cert__chain": base(LEAF, FIRST, SECOND)},
            (LEAF, FIRST, SECOND),
        ),
        (
            PREFIX,
            {
                "ssl__client__cert": base(LEAF),
                "cert__chain_0": base(FIRST),
                "cert__chain_1": f'"{base(SECOND)}"',
            },
            (LEAF, FIRST, SECOND),
        ),
        (LookupOptions(), {"ssl__client__cert": ""}, None),
        (LookupOptions(), {"ssl__client__verify": "0"}, None),
    ],
    "apache": [
        (LookupOptions(), {"ssl__client__cert": FOLDED}, (LEAF,)),
        (LookupOptions(), {"ssl__client__cert": f'"{FOLDED}"'}, (LEAF,)),
        (LookupOptions(), {"ssl__client__cert": base(LEAF)}, (LEAF,)),
        (LookupOptions(), {"ssl__client__cert": "(null)"}, None),
        (LookupOptions(), {"ssl__client__verify": "SUCCESS"}, None),
        (
            PREFIX,
            {
                "ssl__client__cert": FOLDED,
                "cert__chain_0": pem(FIRST, " "),
                "cert__chain_1": "(null)",
            },
            (LEAF, FIRST),
        ),
    ],
    "envoy": [
        (LookupOptions(), {"x__forwarded__client__cert": XFCC}, (LEAF, FIRST)),
        (LookupOptions(), {"x__forwarded__client__cert": f'Cert="{escaped(LEAF)}"'}, (LEAF,)),
        (
            LookupOptions(),
            {"x__forwarded__client__cert": f'Cert="{escaped(LEAF)}";{XFCC}'},
            (LEAF, FIRST),
        ),
        (LookupOptions(), {"x__forwarded__client__cert": "By=a;Hash=00;URI="}, None),
        (LookupOptions(), {"x__forwarded__client__cert": ""}, None),
    ],
    "traefik": [
        (LookupOptions(), {"x__forwarded__tls__client__cert": base(LEAF)}, (LEAF,)),
        (
            LookupOptions(),
            {"x__forwarded__tls__client__cert": f"{base(LEAF)},{base(FIRST)}"},
            (LEAF, FIRST),
        ),
        (
            LookupOptions(url_encoded=True),
            {"x__forwarded__tls__client__cert": f"{escaped(LEAF)},{quote(base(FIRST))}"},
            (LEAF, FIRST),
        ),
        (LookupOptions(), {"x__forwarded__tls__client__cert": ""}, None),
    ],
    "rfc9440": [
        (LookupOptions(), {"client__cert": f":{base(LEAF)}:"}, (LEAF,)),
        (
            LookupOptions(chain_length=2),
            {
                "client__cert": f":{base(LEAF)}:",
                "client__cert__chain": f":{base(FIRST)}: ,\t:{base(SECOND)}:",
            },
            (LEAF, FIRST, SECOND),
        ),
        (
            LookupOptions(header="x-leaf", chain_header="x-rest"),
            {"x__leaf": f":{base(LEAF)}:", "x__rest": f":{base(FIRST)}:"},
            (LEAF, FIRST),
        ),
        (LookupOptions(), {"client__cert": ""}, None),
    ],
}


@pytest.mark.parametrize("name", READ)
def test_what_the_proxy_writes_is_read(name: str) -> None:
    for options, headers, expected in READ[name]:
        assert found(LOOKUPS[name](options), **headers) == expected, headers


_JUNK = ["%2B", "%", "junk", ":", ",", "-----BEGIN CERTIFICATE-----", "=", "é", "(null)", "\0"]
REFUSED: Mapping[str, list[tuple[LookupOptions, dict[str, str], str]]] = {
    "nginx": [
        (LookupOptions(), {"ssl__client__cert": base(LEAF)}, "not one URL-encoded PEM"),
        (LookupOptions(url_encoded=False), {"ssl__client__cert": escaped(LEAF)}, "not one PEM"),
        (PREFIX, {"cert__chain_0": escaped(FIRST)}, "chain without a certificate"),
        (
            PREFIX,
            {"ssl__client__cert": escaped(LEAF), "cert__chain_0": escaped(FIRST, SECOND)},
            "not clean base64",
        ),
    ],
    "haproxy": [
        (LookupOptions(), {"ssl__client__cert": escaped(LEAF)}, "not clean base64"),
        (LookupOptions(), {"ssl__client__cert": base(LEAF)[:-4] + " " + base(LEAF)[-4:]}, "clean"),
        (LookupOptions(), {"ssl__client__cert": FOLDED + FOLDED}, "not clean base64"),
        (LookupOptions(), {"ssl__client__cert": FOLDED[:-9]}, "not one PEM"),
        (
            LookupOptions(chain_header="ssl-cert-chain"),
            {"ssl__client__cert": base(LEAF), "ssl__cert__chain": base(FIRST)[:-8]},
            "cut short|clean",
        ),
        (
            LookupOptions(chain_header="ssl-cert-chain"),
            {"ssl__cert__chain": base(FIRST)},
            "chain without a certificate",
        ),
    ],
    "apache": [
        (LookupOptions(), {"ssl__client__cert": FOLDED + FOLDED}, "not clean base64"),
        (LookupOptions(), {"ssl__client__cert": "(null) "}, "not clean base64"),
        (
            PREFIX,
            {"ssl__client__cert": "(null)", "cert__chain_0": FOLDED},
            "chain without a certificate",
        ),
    ],
    "envoy": [
        (LookupOptions(), {"x__forwarded__client__cert": f"{XFCC},{XFCC}"}, "more than one elem"),
        (LookupOptions(), {"x__forwarded__client__cert": f"{XFCC};{XFCC}"}, "Hash more than once"),
        (
            LookupOptions(),
            {"x__forwarded__client__cert": f'Cert="{escaped(LEAF)}";' * 2},
            "Cert more than once",
        ),
        (
            LookupOptions(),
            {"x__forwarded__client__cert": f'Hash={"0" * 64};URI=a;Chain="{escaped(LEAF)}"'},
            "Hash is not that of the certificate",
        ),
        (LookupOptions(), {"x__forwarded__client__cert": 'Chain="x'}, "Key=value"),
        (LookupOptions(), {"x__forwarded__client__cert": "x"}, "Key=value"),
        (LookupOptions(), {"x__forwarded__client__cert": "Chain=x"}, "list of PEM"),
        (LookupOptions(), {"x__forwarded__client__cert": f'{XFCC[:-1]}junk"'}, "list of PEM"),
        (
            LookupOptions(),
            {"x__forwarded__client__cert": f'Cert="{escaped(FIRST)}";{XFCC}'},
            "not the first",
        ),
    ],
    "traefik": [
        (LookupOptions(), {"x__forwarded__tls__client__cert": f"{base(LEAF)},"}, "empty"),
        (LookupOptions(), {"x__forwarded__tls__client__cert": quote(base(LEAF))}, "not clean"),
    ],
    "rfc9440": [
        (LookupOptions(), {"client__cert": base(LEAF)}, "byte sequence"),
        (LookupOptions(), {"client__cert": f":{base(LEAF)}:;a=1"}, "byte sequence"),
        (LookupOptions(), {"client__cert": f":{base(LEAF)}:, :{base(FIRST)}:"}, "not clean"),
        (LookupOptions(), {"client__cert": ":"}, "empty"),
        (LookupOptions(), {"client__cert": f":{base(LEAF)}x"}, "not a byte sequence"),
        (LookupOptions(), {"client__cert": "::"}, "empty"),
        (
            LookupOptions(),
            {"client__cert__chain": f":{base(FIRST)}:"},
            "chain without a certificate",
        ),
        (
            LookupOptions(),
            {"client__cert": f":{base(LEAF)}:", "client__cert__chain": f":{base(FIRST)}:,"},
            "byte sequence",
        ),
    ],
}


@pytest.mark.parametrize("name", REFUSED)
def test_anything_else_is_an_error_without_its_value(name: str) -> None:
    """Attacks A18."""
    for options, headers, reason in REFUSED[name]:
        with pytest.raises(MalformedCertificate, match=reason) as caught:
            found(LOOKUPS[name](options), **headers)
        assert base(LEAF)[8:40] not in str(caught.value)


LONG = {
    "nginx": (PREFIX, {f"cert__chain_{n}": escaped(der(n + 5)) for n in range(3)}),
    "haproxy": (
        LookupOptions(chain_header="ssl-cert-chain", chain_length=2),
        {"ssl__cert__chain": base(*map(der, range(5, 8)))},
    ),
    "apache": (PREFIX, {f"cert__chain_{n}": pem(der(n + 5), " ") for n in range(3)}),
    "rfc9440": (
        LookupOptions(chain_length=2),
        {"client__cert__chain": ",".join(f":{base(der(n))}:" for n in range(5, 8))},
    ),
}


def test_a_chain_longer_than_allowed_is_refused() -> None:
    """Attacks A17: the limit counts certificates and all bytes together."""
    leaves = {"nginx": escaped(LEAF), "rfc9440": f":{base(LEAF)}:"}
    for name, (options, chain) in LONG.items():
        lookup = LOOKUPS[name](options)
        leaf = {lookup.header.decode().replace("-", "__"): leaves.get(name, base(LEAF))}
        with pytest.raises(MalformedCertificate, match="chain of 3 certificates, 2 are allowed"):
            found(lookup, **leaf, **chain)
    traefik = LOOKUPS["traefik"]()
    with pytest.raises(MalformedCertificate, match="chain of 2"):
        found(
            traefik,
            x__forwarded__tls__client__cert=",".join(map(base, (LEAF, FIRST, SECOND))),
        )
    many = "".join(pem(der(n)) for n in range(12))
    with pytest.raises(MalformedCertificate, match="chain of 11 certificates, 10 are allowed"):
        found(LOOKUPS["envoy"](), x__forwarded__client__cert=f'Chain="{quote(many, safe="")}"')


def test_all_headers_together_are_limited() -> None:
    """Attacks A17."""
    lookup = LOOKUPS["rfc9440"](LookupOptions(chain_length=10))
    rest = ",".join([f":{base(der(9, 9000))}:"] * 6)
    with pytest.raises(MalformedCertificate, match=r"header of .* bytes, 65536 are allowed"):
        found(lookup, client__cert=f":{base(LEAF)}:", client__cert__chain=rest)


VERDICTS = [
    ("haproxy", "0", ProxyVerdict.VERIFIED, None),
    ("haproxy", "20", ProxyVerdict.FAILED, "OpenSSL error 20"),
    ("haproxy", "00", ProxyVerdict.NONE, None),
    ("haproxy", "SUCCESS", ProxyVerdict.NONE, None),
    ("haproxy", "", ProxyVerdict.NONE, None),
    ("haproxy", None, ProxyVerdict.NONE, None),
    ("apache", "SUCCESS", ProxyVerdict.VERIFIED, None),
    ("apache", "FAILED:expired", ProxyVerdict.FAILED, "expired"),
    ("apache", "GENEROUS", ProxyVerdict.FAILED, "GENEROUS: the issuer could not be verified"),
    ("apache", "NONE", ProxyVerdict.NONE, None),
    ("apache", "0", ProxyVerdict.NONE, None),
    ("apache", None, ProxyVerdict.NONE, None),
]
WITHOUT_VERDICT = {
    "envoy": {"x__forwarded__client__cert": XFCC},
    "traefik": {"x__forwarded__tls__client__cert": base(LEAF)},
    "rfc9440": {"client__cert": f":{base(LEAF)}:"},
}


def wire(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.replace("__", "-").encode(): value.encode() for name, value in headers.items()}


def test_the_verdict_of_each_proxy_is_read_in_its_own_words() -> None:
    """Attacks A6: any other word is no verdict."""
    for name, value, verdict, reason in VERDICTS:
        sent = {"ssl__client__cert": base(LEAF)} | (
            {} if value is None else {"ssl__client__verify": value}
        )
        forwarded = LOOKUPS[name]().find_certificate(wire(sent))
        assert forwarded is not None
        assert (forwarded.verdict, forwarded.reason) == (verdict, reason), (name, value)
        trusting = LOOKUPS[name](LookupOptions(trust_proxy_verification=True))
        counts = trusting.find_certificate(wire(sent)) is not None
        assert counts is (verdict is ProxyVerdict.VERIFIED), (name, value)


def test_without_a_header_for_it_the_verdict_is_not_known() -> None:
    """A verdict that the client could have sent counts only where the header is configured."""
    words = {"SUCCESS": ProxyVerdict.VERIFIED, "NONE": ProxyVerdict.NONE, "": ProxyVerdict.NONE}
    for name, headers in WITHOUT_VERDICT.items():
        for word, verdict in words.items():
            sent = wire(headers | {"ssl__client__verify": word})
            plain = LOOKUPS[name]().find_certificate(sent)
            assert plain is not None
            assert plain.verdict is ProxyVerdict.NONE
            told = LookupOptions(verdict_header="ssl-client-verify")
            with_header = LOOKUPS[name](told).find_certificate(sent)
            assert with_header is not None
            assert with_header.verdict is verdict
            both = LookupOptions(verdict_header="ssl-client-verify", trust_proxy_verification=True)
            assert (LOOKUPS[name](both).find_certificate(sent) is not None) is (word == "SUCCESS")
        stated = LOOKUPS[name](LookupOptions(trust_proxy_verification=True)).find_certificate(
            wire(headers)
        )
        assert stated is not None
        assert stated.verdict is ProxyVerdict.VERIFIED


ALL = {
    "nginx": PREFIX,
    "haproxy": LookupOptions(chain_header="ssl-cert-chain", chain_prefix="c", chain_length=10),
    "apache": PREFIX,
    "envoy": LookupOptions(),
    "traefik": LookupOptions(url_encoded=True, chain_length=3),
    "rfc9440": LookupOptions(chain_length=3),
}


def test_a_lookup_reads_the_headers_of_its_options() -> None:
    indexed = {f"cert-chain_{index}".encode() for index in range(10)}
    assert LOOKUPS["apache"](PREFIX).headers == {
        b"ssl-client-cert",
        b"ssl-client-verify",
        *indexed,
    }
    assert LOOKUPS["haproxy"](ALL["haproxy"]).headers >= {b"ssl-cert-chain", b"c_0", b"c_9"}
    assert LOOKUPS["rfc9440"]().headers == {b"client-cert", b"client-cert-chain"}
    own = LookupOptions(header="x-leaf", verdict_header="x-verdict")
    assert LOOKUPS["traefik"](own).headers == {b"x-leaf", b"x-verdict"}


def test_every_spelling_of_a_lookup_header_is_the_proxys_alone() -> None:
    """Attacks A4: also where the proxy does not send it, and those of the other dialects."""
    for name, options in ALL.items():
        lookup = LOOKUPS[name](options)
        reader = EdgeHeaderReader(EVERY_DEFAULT_HEADER | lookup.headers)
        for header in lookup.headers | EVERY_DEFAULT_HEADER:
            text = header.decode()
            assert reader.read_headers([(header, b"a"), (header, b"b")]).ambiguous == header
            for spelling in {each.lower() for each in spellings(text.replace("_", "-"))} - {text}:
                read = reader.read_headers([(spelling.encode(), b"a")])
                assert read.ambiguous == spelling.encode(), (name, spelling)
                assert header not in read.values


_PIECES = st.sampled_from(
    [*_JUNK, base(LEAF), escaped(LEAF), FOLDED, pem(LEAF), XFCC, 'Chain="', f":{base(LEAF)}:"]
)


@given(
    st.sampled_from(sorted(ALL)),
    st.lists(
        st.lists(_PIECES | st.text(max_size=3), max_size=4).map("".join).map(str.encode)
        | st.binary(max_size=60),
        min_size=3,
        max_size=3,
    ),
)
def test_any_bytes_are_a_certificate_none_or_one_error(name: str, values: list[bytes]) -> None:
    """Attacks A18."""
    lookup = LOOKUPS[name](ALL[name])
    headers = [lookup.header, *sorted(lookup.headers - {lookup.header})]
    try:
        forwarded = lookup.find_certificate(dict(zip(headers, values, strict=False)))
    except MalformedCertificate as refusal:
        assert str(refusal)
    else:
        assert forwarded is None or forwarded.leaf


@pytest.mark.parametrize("name", ALL)
def test_the_largest_hostile_header_takes_a_moment(name: str) -> None:
    """Attacks A17, A18."""
    lookup = LOOKUPS[name](ALL[name])
    for unit in (
        b"%41",
        b"A",
        b"-----BEGIN CERTIFICATE-----",
        b"-----END CERTIFICATE-----",
        b",",
        b":",
        b'"',
        b'Chain="',
        b"A=B;",
        b'A="\\',
        b"MAA=",
    ):
        value = (unit * (64 * 1024 // len(unit)))[: 64 * 1024]
        began = time.thread_time()
        with suppress(MalformedCertificate):
            lookup.find_certificate({lookup.header: value})
        assert time.thread_time() - began < A_MOMENT, unit
