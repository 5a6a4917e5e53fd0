"""Two names that people or programs take for the same one have equal keys. RFC 8265 §3.3."""

import sys
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from time import process_time
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.unique_names import is_plainly_written, name_key
from gateway.domain.users import canonical_name
from gateway.storage.sql.column_types import is_name

CHANGES: Final[Mapping[str, Callable[[str], str]]] = {
    "upper": str.upper,
    "lower": str.lower,
    "folded": str.casefold,
    "swapped": str.swapcase,
    **{form: partial(unicodedata.normalize, form) for form in ("NFC", "NFD", "NFKC", "NFKD")},
    "canonical": canonical_name,
}
"""What applications and databases compare names by."""
_IOTA_BELOW: Final = "\u0345"
"""Upper case makes a letter of this mark, which other marks follow then or precede."""


def _is_united(name: str) -> bool:
    return _IOTA_BELOW not in unicodedata.normalize("NFD", name)


STORED: Final = (
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
    .map(partial(unicodedata.normalize, "NFC"))
    .filter(_is_united)
)


@given(STORED, st.sampled_from(sorted(CHANGES)))
def test_no_change_of_case_or_form_makes_another_name(name: str, change: str) -> None:
    assert name_key(CHANGES[change](name)) == name_key(name)


@given(STORED)
def test_a_key_is_its_own_key_and_can_be_indexed(name: str) -> None:
    key = name_key(name)
    assert name_key(key) == key
    assert is_name(key.replace("\0", ""))


def test_every_character_has_one_key_in_each_case_and_form() -> None:
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        cases = {character.upper(), character.lower(), unicodedata.normalize("NFKD", character)}
        if 0xD800 <= number < 0xE000 or cases == {character}:
            continue
        name = unicodedata.normalize("NFC", f"a{character}b")
        key = name_key(name)
        assert {name_key(change(name)) for change in CHANGES.values()} == {key}, hex(number)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("stra\u00dfe", "STRASSE"),
        ("mike", "m\u0131ke"),
        ("mike", "M\u0130KE"),
        ("mike", "mi\u0307ke"),
        ("mike", "\uff4d\uff49\uff4b\uff45"),
        ("fiona", "\ufb01ona"),
        ("mike", "mi\u212ae"),
        ("sam", "\u017fam"),
        ("mike", "mi\u200dke"),
        ("mike", "mike\ufe0f"),
        ("ada@example.org", "ada\uff20example\uff0eorg"),
        ("ada@example.org", "ada@example\u3002org"),
        ("ada@example.org", "ADA@EXAMPLE.ORG."),
        ("ada@b\u00fccher.example", "ada@xn--bcher-kva.example"),
        ("ada@b\u00fccher.example", "ada@\uff58\uff4e--bcher-kva.example"),
        ("ada@strasse.example", "ada@xn--strae-oqa.example"),
    ],
)
def test_look_alikes_have_one_key(name: str, other: str) -> None:
    assert name_key(name) == name_key(other)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("ada", "ad\u00e4"),
        ("zoe", "\u017coe"),
        ("mike", "mi ke"),
        ("ada@example.org", "ada@example.com"),
        ("ada.b@example.org", "adab@example.org"),
        ("a@b@c", "ab@c"),
    ],
)
def test_other_names_have_other_keys(name: str, other: str) -> None:
    assert name_key(name) != name_key(other)


@pytest.mark.parametrize("name", ["\uff4dike", "mi\u212ae", "mike\ufe0f", "ad\u00ada", "\ufb01"])
def test_a_name_in_another_form_is_told(name: str) -> None:
    assert not is_plainly_written(name)
    assert is_plainly_written(name_key(name))


@pytest.mark.parametrize("character", ["\ufdfa", "\u1fb7", "\u0345\u0301\u0316", "\u00df"])
def test_the_longest_name_has_a_short_key_at_once(character: str) -> None:
    began = process_time()
    key = name_key(character * 1024)
    assert process_time() - began < 0.2
    assert is_name(key)
