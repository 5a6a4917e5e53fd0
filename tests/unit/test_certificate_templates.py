"""Templates of certificate names: what fits comes apart again, and nothing else fits."""

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from gateway.domain.certificate_names import CertificateTemplate, shapes_of
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
