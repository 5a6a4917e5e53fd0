"""Which subjects authenticate a client registered with `x509.subjectdn`."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.distinguished_names import (
    Attribute,
    DistinguishedName,
    canonical_name_of,
    parse_distinguished_name,
    subject_matches,
)

CN, O = "2.5.4.3", "2.5.4.10"  # noqa: E741 - the keyword's own name


def common_name(value: str | bytes) -> DistinguishedName:
    return DistinguishedName(((Attribute(O, "Acme"),), (Attribute(CN, value),)))


DEVICE = parse_distinguished_name("CN=device-1,OU=Devices,O=Acme")


@pytest.mark.parametrize(
    ("expected", "matches"),
    [
        ("CN=device-1,OU=Devices,O=Acme", True),
        ("cn=device-1 , ou=Devices , o=Acme", True),
        ("O=Acme,OU=Devices,CN=device-1", False),
        ("CN=Device-1,OU=Devices,O=Acme", False),
        ("CN=device-1,OU=Devices", False),
        ("CN=device-1,OU=Devices,O=Acme,C=DE", False),
        ("CN=device-1+OU=Devices,O=Acme", False),
        ("CN=d\u0435vice-1,OU=Devices,O=Acme", False),
        ("CN=device-1 2,OU=Devices,O=Acme", False),
        (".*", False),
        ("", False),
        ("  ", False),
        ("not a name", False),
    ],
)
def test_exact_comparison_is_of_parsed_names(expected: str, *, matches: bool) -> None:
    """RFC 8705 §2.1.2; Keycloak with regex comparison false; a blank setting never matches."""
    assert subject_matches(DEVICE, expected, regex=False) is matches


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("CN=device-1, OU=Devices, O=Acme", True),
        (r"CN=device-\d+, OU=Devices, O=Acme", True),
        ("(.*?)(?:$)", True),
        ("CN=device-1", False),
        ("OU=Devices, O=Acme", False),
        ("CN=device-1,OU=Devices,O=Acme", False),
        ("cn=device-1, OU=Devices, O=Acme", False),
        ("(", False),
        ("", False),
    ],
)
def test_regex_comparison_is_a_full_match_of_the_legacy_form(
    pattern: str, *, matches: bool
) -> None:
    """Keycloak 1.2: Java's legacy form, separator comma and space, the whole of it."""
    assert subject_matches(DEVICE, pattern, regex=True) is matches


@pytest.mark.parametrize(
    ("name", "legacy", "canonical"),
    [
        ("UID=m1+CN=multi", "CN=multi + UID=m1", "cn=multi+uid=m1"),
        ("CN=longer value+UID=m1", "UID=m1 + CN=longer value", "cn=longer value+uid=m1"),
        ("CN=zz+SERIALNUMBER=1", "SERIALNUMBER=1 + CN=zz", "cn=zz+2.5.4.5=#130131"),
        (
            "EMAILADDRESS=a@b+OU=x+CN=y",
            "CN=y + OU=x + EMAILADDRESS=a@b",
            "cn=y+ou=x+1.2.840.113549.1.9.1=#1603614062",
        ),
    ],
)
def test_several_values_of_a_relative_name_are_in_javas_order(
    name: str, legacy: str, canonical: str
) -> None:
    """As Java 25 writes certificates with these subjects; Keycloak: 1.2, 11.2."""
    subject = parse_distinguished_name(name)
    assert subject.legacy_rendering() == legacy
    assert canonical_name_of(subject).text == canonical


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize(
    "subject",
    [
        DistinguishedName(),
        DistinguishedName(((Attribute(CN, "bob"),), (Attribute(CN, "admin"),))),
        DistinguishedName(((Attribute(CN, "bob"), Attribute(CN, "admin")),)),
        DistinguishedName(((Attribute(CN, "bob"), Attribute(CN, "bob")),)),
        common_name("bob\nCN=admin"),
        common_name("bob\0"),
        common_name("bo\u200db"),
        common_name("bob\u202e"),
        common_name("bob\u2028"),
        common_name(bytes.fromhex("0403626f62")),
    ],
    ids=lambda value: ascii(str(value)) if isinstance(value, DistinguishedName) else None,
)
def test_an_ambiguous_subject_matches_nothing(subject: DistinguishedName, *, regex: bool) -> None:
    """Attack A15: several CNs, invisible characters and values that are not text never pass."""
    expected = "(?s).*" if regex else subject.rfc4514()
    assert not subject_matches(subject, expected, regex=regex)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("bob,CN=admin", "CN=bob,CN=admin,O=Acme"),
        ("bob/CN=admin", "CN=admin,O=Acme"),
        ("\u0430dmin", "CN=admin,O=Acme"),
        ("admin ", "CN=admin ,O=Acme"),
        ("#0c0161", "CN=#0c0161,O=Acme"),
    ],
)
def test_a_value_cannot_pose_as_another_name(value: str, expected: str) -> None:
    """Attack A15: what looks alike as a string differs as a parsed name."""
    assert not subject_matches(common_name(value), expected, regex=False)


@pytest.mark.parametrize(
    "value", ["bob, O=Acme", "bob,O=Acme", 'bob", O="Acme', "a + O=Acme", "a=b"]
)
def test_a_value_with_separators_is_quoted_in_the_legacy_form(value: str) -> None:
    """Attack A15: in regex mode too one value cannot pose as two relative names."""
    subject = DistinguishedName(((Attribute(CN, value),),))
    assert not subject_matches(subject, 'CN=[^"]*, O=[^"]*', regex=True)
    assert subject.legacy_rendering().startswith('CN="')
    assert parse_distinguished_name(subject.legacy_rendering()) == subject


def test_the_legacy_form_is_the_one_java_writes() -> None:
    """Keycloak 1.2: ` + ` in multi-valued names, quotes where needed, OID. for unknown types."""
    subject = parse_distinguished_name(
        r"CN=a\+b+UID=7,STREET=x\ ,1.2.3=z,businessCategory=y,OU=two  spaces,E=a@b,2.5.4.3=#040161"
    )
    assert subject.legacy_rendering() == (
        'CN="a+b" + UID=7, STREET="x ", OID.1.2.3=z, OID.2.5.4.15=y, OU="two  spaces", '
        "EMAILADDRESS=a@b, CN=#040161"
    )


@pytest.mark.parametrize("regex", [False, True])
@pytest.mark.parametrize("expected", ["", " ", "\n"])
def test_a_blank_setting_matches_no_subject(expected: str, *, regex: bool) -> None:
    """Keycloak 1.2: blank, the authenticator never succeeds, not even for the empty subject."""
    for subject in (DistinguishedName(), DEVICE, common_name("")):
        assert not subject_matches(subject, expected, regex=regex)


def test_a_very_long_subject_is_not_given_to_a_pattern() -> None:
    """A pattern that backtracks must not be fed by whoever chooses the subject."""
    assert subject_matches(common_name("a" * 900), "CN=a*, O=Acme", regex=True)
    assert not subject_matches(common_name("a" * 1100), "CN=a*, O=Acme", regex=True)


@pytest.mark.parametrize("pattern", ["CN=(a+)+, O=Acme", "CN=(a|a)*, O=Acme", r"CN=(a)\1.*"])
def test_a_stored_pattern_that_may_take_hours_matches_nothing(pattern: str) -> None:
    """One client's pattern must not stop the event loop for all: CWE-1333."""
    assert re.fullmatch(pattern, "CN=aa, O=Acme")
    assert not subject_matches(common_name("aa"), pattern, regex=True)


def test_order_in_a_multi_valued_relative_name_does_not_count() -> None:
    """RFC 4514 §2.2: a relative name is a set; X.690 sorts it by encoding."""
    subject = parse_distinguished_name("OU=a+CN=b,O=c")
    assert subject_matches(subject, "CN=b+OU=a,O=c", regex=False)
    assert not subject_matches(subject, "CN=b,OU=a,O=c", regex=False)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1))
def test_a_legacy_form_reads_back_as_the_same_name(value: str) -> None:
    """No text value can change the structure of the form that patterns see."""
    subject = common_name(value)
    assert parse_distinguished_name(subject.legacy_rendering()) == subject
