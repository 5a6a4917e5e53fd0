"""Templates of certificate names: what fits comes apart again, and nothing else fits."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.domain.certificate_names import (
    SUBJECT_PARTS,
    CertificateName,
    CertificateTemplate,
    shapes_of,
    shapes_of_name,
)
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.distinguished_names import KEYWORDS, Attribute, DistinguishedName
from tests.unit.forward_auth.test_certificate_names import CERTIFICATE

_VALUE = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True).filter(
    lambda text: text not in {".", ".."}
)
_LITERAL = st.from_regex("[a-z0-9-]{1,10}", fullmatch=True)
_SEGMENTS = st.lists(st.one_of(_LITERAL, st.none()), min_size=1, max_size=8).filter(
    lambda segments: None in segments
)


def _template(segments: list[str | None]) -> CertificateTemplate:
    written = [f"{{p{n}}}" if one is None else one for n, one in enumerate(segments)]
    return CertificateTemplate.parse_template("spiffe://" + "/".join(written))


@given(_SEGMENTS, st.data())
def test_a_name_that_is_filled_in_gives_its_values_back(
    segments: list[str | None], data: st.DataObject
) -> None:
    template = _template(segments)
    values = {name: data.draw(_VALUE) for name in template.names}
    rest = [values[f"p{n}"] if one is None else one for n, one in enumerate(segments)]
    name = "spiffe://" + "/".join(rest)
    certificate = replace(CERTIFICATE, uris=(name, "urn:other"))
    (device,) = template.devices(certificate)
    assert (device.name, device.values) == (name, values)
    assert template.shape in shapes_of(certificate)


@given(_SEGMENTS, st.text(max_size=80))
@example(["a", None], "a/\n")
@example(["a", None], "a/x\0")
@example(["a", None], "a/\u0430")
@example([None, None], "x//")
def test_any_text_fits_only_when_it_is_the_template_filled_in(
    segments: list[str | None], text: str
) -> None:
    """Attacks A15: control characters, look-alike letters and empty segments fit nothing."""
    template, name = _template(segments), f"spiffe://{text}"
    for device in template.devices(replace(CERTIFICATE, uris=(name,))):
        filled = template.text
        for placeholder, value in device.values.items():
            assert value.isascii()
            filled = filled.replace(f"{{{placeholder}}}", value)
        assert filled == name


@given(st.text(max_size=100))
@example("{a}.{b}.example")
@example("spiffe://{a}/{a}")
@example("://{a}")
def test_any_text_is_a_template_or_refused_with_what_is_allowed(text: str) -> None:
    try:
        parsed = CertificateTemplate.parse_template(text)
    except ValueError as error:
        assert str(error).startswith("a template")
    else:
        assert parsed.text == text
        assert parsed.names


_SEPARATORS = st.sampled_from(".:/-_@")
_WORD = st.from_regex("[A-Za-z0-9]{1,20}", fullmatch=True)
_PART = st.sampled_from(sorted(SUBJECT_PARTS))


def _with_subject(*relative_names: tuple[Attribute, ...]) -> PresentedCertificate:
    return replace(CERTIFICATE, subject=DistinguishedName(relative_names))


@given(_PART, _SEPARATORS, st.lists(_WORD, min_size=1, max_size=5), _WORD)
def test_an_attribute_of_the_subject_gives_its_values_back(
    part: str, separator: str, words: list[str], literal: str
) -> None:
    """The rest of the subject does not matter, and no other attribute is looked at."""
    names = [f"p{number}" for number in range(len(words))]
    pattern = separator.join([literal, *(f"{{{name}}}" for name in names)])
    template = CertificateTemplate.parse_template(f"{part}:{pattern}")
    name = separator.join([literal, *words])
    own = Attribute(SUBJECT_PARTS[part], name)
    fitting = _with_subject((Attribute(KEYWORDS["C"], "DE"),), (own,))
    (device,) = template.devices(fitting)
    assert (device.name, device.values) == (name, dict(zip(names, words, strict=True)))
    assert template.ambiguity(fitting) is None
    assert template.shape in shapes_of(fitting)
    for other in SUBJECT_PARTS.keys() - {part}:
        elsewhere = _with_subject((Attribute(SUBJECT_PARTS[other], name),))
        assert template.devices(elsewhere) == ()
        assert template.shape not in shapes_of(elsewhere)


@given(_PART, _WORD, _WORD, st.sampled_from(("twice", "beside")))
def test_a_repeated_attribute_names_no_single_device(
    part: str, first: str, second: str, how: str
) -> None:
    """Several values, or one beside another in its relative name; each lock counts all the same."""
    template = CertificateTemplate.parse_template(f"{part}:{{device}}")
    own = Attribute(SUBJECT_PARTS[part], first)
    other = Attribute(SUBJECT_PARTS[part] if how == "twice" else KEYWORDS["L"], second)
    found = _with_subject((own,), (other,)) if how == "twice" else _with_subject((own, other))
    assert template.ambiguity(found) is not None
    expected = {first, second} if how == "twice" else {first}
    assert {device.name for device in template.devices(found)} == expected
    assert template.shape in shapes_of(found)


_NO_DEVICES: tuple[str, ...] = (
    "sensor-",
    "sensor-a-b",
    "Sensor-1",
    "sensor-1\0",
    "sensor-1\n",
    " sensor-1",
    "1",
)
_NO_DEVICES += ("sensor-1,CN=2", "sensor-1+2", "sensor-..", "sensor-\u0430", "sensor-%31", "")
_NO_DEVICES += (f"sensor-{'1' * 65}", "x-sensor-1", "sensor-1 ")


def test_a_value_of_the_subject_fits_exactly_or_not_at_all() -> None:
    """Attacks A15: case, blanks, escaped signs, look-alikes and further separators."""
    template = CertificateTemplate.parse_template("cn:sensor-{device}")
    for value in _NO_DEVICES:
        certificate = _with_subject((Attribute(KEYWORDS["CN"], value),))
        assert template.devices(certificate) == (), value
        assert not template.fits(value)
    written_as_other_type = _with_subject((Attribute(KEYWORDS["CN"], b"\x04\x08sensor-1"),))
    assert template.devices(written_as_other_type) == ()


def test_addresses_and_opaque_uris_have_templates() -> None:
    address = CertificateTemplate.parse_template("email:{device}@fleet.example")
    uri = CertificateTemplate.parse_template("uri:urn:dev:mac:{device}")
    named = replace(
        CERTIFICATE,
        emails=("Press-7@Fleet.Example", "press@other.example", "a@b@fleet.example"),
        uris=("urn:dev:mac:0024befffe804ff1", "urn:dev:mac:1:2", "urn:dev:ops:1"),
    )
    assert [found.name for found in address.devices(named)] == ["Press-7@fleet.example"]
    assert [found.values for found in uri.devices(named)] == [{"device": "0024befffe804ff1"}]
    assert {address.shape, uri.shape} <= shapes_of(named)
    for prefixed, plain in (("dns:{a}.example", "{a}.example"), ("uri:x://{a}", "x://{a}")):
        first, second = map(CertificateTemplate.parse_template, (prefixed, plain))
        assert (first.shape, first.literals) == (second.shape, second.literals)


_WRONG: tuple[str, ...] = (
    "cn:",
    "cn:device",
    "cn:{a}-{b}.{c}",
    "cn:{a}{b}",
    "cn:x{a}",
    "cn: {a}",
    "cn:{a}+{b}",
)
_WRONG += ("cn:{a},{b}", "email:{a}", "email:{a}@b@c", "title:{a}", "ip:{a}", "cn:{a}-\0")
_WRONG += ("subject:CN={a}", "email:{a}@Fleet.example", "cn:{a}-{a}", "sha256:{a}")


def test_a_template_of_a_part_is_refused_where_it_is_unclear() -> None:
    for text in _WRONG:
        with pytest.raises(ValueError, match="a template"):
            CertificateTemplate.parse_template(text)


def test_templates_that_one_certificate_can_fit_overlap() -> None:
    """Also of different separators, and with the registered subject of another client."""
    all_names, sensors, places = (
        CertificateTemplate.parse_template(text)
        for text in ("cn:{device}", "cn:sensor-{device}", "cn:{site}.{device}")
    )
    assert all_names.overlaps(sensors)
    assert sensors.overlaps(places)
    assert not sensors.overlaps(CertificateTemplate.parse_template("cn:meter-{device}"))
    assert not sensors.overlaps(CertificateTemplate.parse_template("ou:sensor-{device}"))
    registered = CertificateName.parse_name("subject:CN=sensor-1,O=Example")
    assert sensors.fits_name(registered)
    assert sensors.shape in shapes_of_name(registered)
    assert not sensors.fits_name(CertificateName.parse_name("subject:CN=meter-1"))
