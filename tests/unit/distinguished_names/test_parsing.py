"""RFC 4514 strings, and the older forms that people still paste, read as names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.distinguished_names import (
    KEYWORDS,
    Attribute,
    DistinguishedName,
    parse_distinguished_name,
)

CN, OU, O = KEYWORDS["CN"], KEYWORDS["OU"], KEYWORDS["O"]  # noqa: E741 - the keyword's own name


def name(*relative_names: tuple[tuple[str, str | bytes], ...]) -> DistinguishedName:
    return DistinguishedName(
        tuple(tuple(Attribute(oid, value) for oid, value in rdn) for rdn in relative_names)
    )


DEVICE = name(((O, "Acme"),), ((OU, "Devices"),), ((CN, "device-1"),))


@pytest.mark.parametrize(
    "text",
    [
        "CN=device-1,OU=Devices,O=Acme",
        "cn=device-1,Ou=Devices,o=Acme",
        "CN=device-1, OU=Devices, O=Acme",
        " CN = device-1 ; OU = Devices ; O = Acme ",
        'CN="device-1",OU="Devices" , O=Acme',
        "2.5.4.3=device-1,OID.2.5.4.11=Devices,oid.2.5.4.10=Acme",
        "CN=#0c086465766963652d31,OU=#1307446576696365 73,O=Acme".replace(" ", ""),
        r"CN=\64evice\2d1,OU=Devices,O=Acme",
        "CN=device-1,\nOU=Devices,\r\nO=Acme",
    ],
)
def test_every_written_form_of_a_name_is_read_as_the_same_name(text: str) -> None:
    """RFC 4514 §3, RFC 2253 §4: keyword case, spaces, quotes, hex and OIDs are only spelling."""
    assert parse_distinguished_name(text) == DEVICE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", name()),
        ("CN=", name(((CN, ""),))),
        (r"CN=Sue\, Grabbit\+Runn", name(((CN, "Sue, Grabbit+Runn"),))),
        ('CN="Sue, Grabbit + Runn"', name(((CN, "Sue, Grabbit + Runn"),))),
        (r'CN="a\"b\\c"', name(((CN, 'a"b\\c'),))),
        (r"CN=\ two  spaces\ ", name(((CN, " two  spaces "),))),
        (r"CN=\#1", name(((CN, "#1"),))),
        ("CN=a=b", name(((CN, "a=b"),))),
        (r"CN=Lu\C4\8Di\C4\87", name(((CN, "Lučić"),))),
        (r"CN=a\0Ab", name(((CN, "a\nb"),))),
        ("CN=#04024869", name(((CN, bytes.fromhex("04024869")),))),
        (
            "OU=Sales+CN=J.  Smith,DC=example",
            name((("0.9.2342.19200300.100.1.25", "example"),), ((OU, "Sales"), (CN, "J.  Smith"))),
        ),
        ("EMAILADDRESS=a@b", name((("1.2.840.113549.1.9.1", "a@b"),))),
        ("E=a@b", name((("1.2.840.113549.1.9.1", "a@b"),))),
        ("serialNumber=7", name((("2.5.4.5", "7"),))),
        ("businessCategory=Private", name((("2.5.4.15", "Private"),))),
        ("jurisdictionCountryName=DE", name((("1.3.6.1.4.1.311.60.2.1.3", "DE"),))),
    ],
)
def test_escapes_and_keywords_follow_rfc_4514_and_keycloak(
    text: str, expected: DistinguishedName
) -> None:
    """RFC 4514 §2.4 and §4; Keycloak's additional keywords."""
    assert parse_distinguished_name(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("device-1", "no '='"),
        ("CN=a,", "no '='"),
        ("CN=a,,O=b", "no '='"),
        ("=a", "unknown attribute type"),
        ("FOO=a", "unknown attribute type 'FOO'"),
        ("1=a", "unknown attribute type"),
        ("1.02=a", "unknown attribute type"),
        ("CN=#", "hexadecimal"),
        ("CN=#0", "hexadecimal"),
        ("CN=#zz", "hexadecimal"),
        ("CN=#0c05616263", "cut short"),
        ("CN=#0c0161ff", "bytes follow"),
        ("CN=#0c8103616263", "not the shortest"),
        ("CN=#0c80616200", "not definite"),
        ("CN=#1f0161", "more than one byte"),
        ('CN="a', "closing quote"),
        ('CN="a"b', "follows the closing quote"),
        ('CN=a"b', "must be escaped"),
        ("CN=a<b", "must be escaped"),
        ("CN=a\0b", "must be escaped"),
        ("CN=a\\", "must be followed"),
        (r"CN=a\zz", "must be followed"),
        (r"CN=a\C4", "not UTF-8"),
        ("CN=" + "a" * 9000, "longer than"),
    ],
)
def test_a_faulty_name_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_distinguished_name(text)


types = st.sampled_from([*KEYWORDS.values(), "1.2.3.4", "2.999.1"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    ' ,;+="\\#<>\0\n\r', max_size=6
)
names = st.lists(
    st.lists(st.builds(Attribute, types, texts), min_size=1, max_size=3).map(tuple), max_size=4
).map(lambda rdns: DistinguishedName(tuple(rdns)))


@given(names)
def test_writing_a_name_and_reading_it_gives_the_same_name(given_name: DistinguishedName) -> None:
    """RFC 4514 §2: no value whatever can pose as more or fewer attributes."""
    assert parse_distinguished_name(given_name.rfc4514()) == given_name


@given(names)
def test_a_written_name_has_no_control_characters(given_name: DistinguishedName) -> None:
    """Attack A15: a raw newline would forge log lines."""
    assert given_name.rfc4514().isprintable()


@given(st.text() | st.text('CNO=,+;#"\\ 0aF<>\n', max_size=30))
def test_any_text_is_read_or_refused_with_a_value_error(text: str) -> None:
    try:
        parsed = parse_distinguished_name(text)
    except ValueError:
        return
    assert parse_distinguished_name(parsed.rfc4514()) == parsed
