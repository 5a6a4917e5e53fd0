"""How the URL of a DPoP proof is compared. RFC 9449 §4.3, number 9; RFC 3986 §6.2.2, §6.2.3."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.protocol.sender_constraint.dpop_proofs import names_one_of, normalized_url

URL = "https://id.example.test/realms/demo/token"
_SEGMENT = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=8)


@pytest.mark.parametrize(
    "other",
    [
        "HTTPS://ID.Example.Test/realms/demo/token",
        "https://id.example.test:443/realms/demo/token",
        "https://id.example.test./realms/demo/token",
        f"{URL}?a=b",
        f"{URL}#fragment",
        "https://id.example.test/realms/./demo/x/../token",
        "https://id.example.test/../realms/demo/token",
        "https://id.example.test/realms/%64emo/tok%65n",
    ],
)
def test_other_spellings_of_a_url_are_the_same(other: str) -> None:
    assert names_one_of(other, (URL,))


def test_dots_at_the_end_and_lower_case_escapes_are_normalized() -> None:
    base = "https://id.example.test/realms/"
    for one, other in (("demo/.", "demo/"), ("demo/x/..", "demo/"), ("a%2fb", "a%2Fb")):
        assert names_one_of(base + one, (base + other,)), one


@pytest.mark.parametrize(
    "other",
    [
        "http://id.example.test/realms/demo/token",
        "https://id.example.test:8443/realms/demo/token",
        "https://id.example.test/realms/Demo/token",
        "https://id.example.test/realms/demo/token/",
        "https://id.example.test//realms/demo/token",
        "https://id.example.test/realms/demo%2Ftoken",
        "https://id.example.test.evil.test/realms/demo/token",
    ],
)
def test_another_url_is_another_one(other: str) -> None:
    assert not names_one_of(other, (URL,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/realms/demo/token",
        "//id.example.test/realms/demo/token",
        "ftp://id.example.test/",
        "https:///realms",
        "https://./realms",
        "https://user@id.example.test/",
        "https://id.example.test:port/",
        "https://id.example.test:99999/",
        "https://[::1/",
        "https://id.example.test/a b",
        "https://id.example.test/a\nb",
        "https://id.example.test\\@evil.test/",
        "https://id.example.test/%zz",
        "https://id.example.test/%",
        "https://id.example.test/\u00e9",
    ],
)
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        normalized_url(text)


@given(st.text(max_size=60))
def test_any_text_is_normalized_or_refused_with_a_value_error(text: str) -> None:
    for url in (text, f"https://host.test/{text}", f"https://{text}/"):
        try:
            found = normalized_url(url)
        except ValueError:
            continue
        assert normalized_url(found) == found


@given(st.lists(_SEGMENT, max_size=4), st.lists(_SEGMENT, max_size=4))
def test_only_the_same_path_is_the_same_url(one: list[str], other: list[str]) -> None:
    first, second = ("/".join(quote(part, safe="") for part in path) for path in (one, other))
    is_same = names_one_of(f"https://host.test/a/{first}", (f"https://host.test/a/{second}",))
    plain = {".", ".."}
    if not plain.intersection(one) and not plain.intersection(other):
        assert is_same == (one == other)
