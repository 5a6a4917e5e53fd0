"""One spelling in all texts of the pages: sign in, sign out, sentence case."""

import re
from collections.abc import Mapping
from typing import Final

import pytest

from gateway.http.pages import load_designs

CATALOGS: Final = load_designs(None).built_in.catalogs
OTHER_WORDS: Final[Mapping[str, str]] = {
    "en": r"\blog(ged|ging)?[ -]?(you )?(in|on|out|off)\b|\bsign (up|off|on)\b",
    "de": r"log(g?t?|ge)?[ -]?(in|out|en)\b|ein(ge)?log|aus(ge)?log",
    "fr": r"\blog(in|out)\b|s.identifier|ouvrir une session|fermer la session",
    "es": r"\blog(in|out)\b|\bacceder a su cuenta\b|\bentrar\b",
    "ja": "ログ(イン|アウト|オン|オフ)",
    "ar": "الولوج|لوج إن",
}
"""Words for signing in and out, by language, other than the chosen ones."""
NAMES: Final = frozenset(
    {
        *("Admin", "CLI", "FreeOTP", "Google", "Authenticator", "Microsoft", "JavaScript", "OTP"),
        *(
            "PIN",
            "QR",
            "URI",
            "URL",
            "URLs",
            "IP",
            "HTTPS",
            "TLS",
            "X.509",
            "CA",
            "FALSE",
            "Cancel",
            "Continue",
        ),
    }
)
"""Words with capitals inside a sentence: names, abbreviations, buttons."""


@pytest.mark.parametrize("locale", sorted(OTHER_WORDS))
def test_every_text_says_sign_in_and_sign_out(locale: str) -> None:
    assert OTHER_WORDS.keys() == CATALOGS.keys()
    words = re.compile(OTHER_WORDS[locale], re.IGNORECASE)
    found = [(key, text) for key, text in CATALOGS[locale].items() if words.search(text)]
    assert found == []


def test_english_texts_are_in_sentence_case() -> None:
    for key, text in CATALOGS["en"].items():
        for sentence in re.split(r"(?<=[.?!:])\s+|[“”]", text):
            rest = re.findall(r"[A-Za-z][A-Za-z.0-9]*", sentence)[1:]
            capital = {word.rstrip(".") for word in rest if word[0].isupper()}
            assert capital <= NAMES, (key, text)
            assert not sentence or not sentence[0].islower() or sentence != text or key in LOWER, (
                key
            )


LOWER: Final = frozenset({"loginToContinue"})
"""Texts that continue the line above them."""
