"""Names that anybody may send: found as they are kept, and of any length read at once."""

import unicodedata
from time import process_time

import pytest

from gateway.domain.users import canonical_name, sought_name
from gateway.storage.sql.column_types import is_name


@pytest.mark.parametrize("character", ["a", "ᾂ", "Ệ", "각", "\N{LATIN CAPITAL LETTER U}\u0308"])
def test_the_longest_name_is_sought_however_it_was_composed(character: str) -> None:
    kept = canonical_name(character * 255)
    for form in ("NFC", "NFD"):
        assert sought_name(unicodedata.normalize(form, kept)) == kept
    assert is_name(kept)


@pytest.mark.parametrize("character", ["a", "ᾂ", "Ệ", "각", "T\u0308"])
def test_what_is_cut_off_makes_no_other_name(character: str) -> None:
    assert not is_name(sought_name(unicodedata.normalize("NFD", character * 16_384)))


def test_endless_accents_take_no_time() -> None:
    began = process_time()
    sought_name("a" + "\u0345\u0301\u0316\u0334" * 4_000)
    sought_name("a" + "".join(accent * 4_000 for accent in "\u0345\u0301\u0316\u0334"))
    assert process_time() - began < 0.1  # uncut: more than half a second
