"""Domains of addresses that are not in ASCII: one domain, one form. RFC 5890 §2.3.2.1."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.unique_names import ascii_domain
from gateway.domain.users import canonical_name


@pytest.mark.parametrize(
    ("address", "kept", "sent_to"),
    [
        ("ada@example.org", "ada@example.org", "example.org"),
        ("Ä@BÜCHER.example", "ä@bücher.example", "xn--bcher-kva.example"),
        ("Ä@XN--bcher-kva.Example", "ä@bücher.example", "xn--bcher-kva.example"),
        (
            "ada@bu\N{COMBINING DIAERESIS}cher.example",
            "ada@bücher.example",
            "xn--bcher-kva.example",
        ),
        ("ada@mail.xn--fa-hia.de", "ada@mail.faß.de", "mail.xn--fa-hia.de"),
        ("ada@例え.jp", "ada@例え.jp", "xn--r8jz45g.jp"),
    ],
)
def test_an_address_is_kept_in_one_form(address: str, kept: str, sent_to: str) -> None:
    """`faß.de` is another domain than `fass.de`, which gets no mail for it."""
    assert canonical_name(address) == kept
    assert ascii_domain(canonical_name(address).partition("@")[2]) == sent_to


@pytest.mark.parametrize(
    "domain",
    [
        "xn--",
        "xn--a",
        "xn--abc-",
        "xn--999999999",
        "xn--a-ecp.example",
        "xn--" + "a" * 60,
        "xn--" + "ﬃ".encode("punycode").decode(),
        "xn--" + "a\N{LINE SEPARATOR}b".encode("punycode").decode(),
        "xn--" + "Ü".encode("punycode").decode(),
        "a..b",
        "[192.0.2.1]",
    ],
)
def test_what_is_no_a_label_stays(domain: str) -> None:
    assert canonical_name(f"ada@{domain}") == f"ada@{domain}"


@pytest.mark.parametrize("domain", ["ﬃ.example", "ü" * 60 + ".example"])
def test_what_is_no_domain_gets_no_mail(domain: str) -> None:
    with pytest.raises(ValueError, match=domain.partition(".")[0]):
        ascii_domain(domain)


@given(st.text(max_size=60), st.sampled_from(["", "xn--"]))
def test_the_form_is_the_same_when_it_is_made_again(label: str, prefix: str) -> None:
    lower = unicodedata.normalize("NFC", label.lower())
    if prefix:
        label = prefix + lower.encode("punycode", "replace").decode("ascii", "replace")
    kept = canonical_name(f"ada@{label}")
    assert canonical_name(kept) == kept
