"""Which user names and e-mail addresses are the same for uniqueness, and domains beyond ASCII.

Two names that people or applications take for the same one have equal keys: names that differ in
capitals (`STRASSE`, `straße`), width, ligatures, the composition of accents, characters that are
not displayed, the dot of `i` (dotless in Turkish), or the form of the domain of an address. A key
is only compared; it is never shown, stored as a name, or used as a recipient.

RFC 8265 §3.3 (UsernameCaseMapped) maps width and case and composes. A key folds more: NFKC, full
case folding, and default-ignorable code points, as Unicode's toNFKC_Casefold; and the dots of `i`
and `j`, which depend on the language of the program that changes the case. Look-alikes of other
scripts, such as Cyrillic letters, differ: the validator `up-username-not-idn-homograph` refuses
them.

`bücher.example` (U-label) and `xn--bcher-kva.example` (A-label) are one domain. A U-label is lower
case in the normal forms NFC and NFKC; any other text, such as a ligature, is no domain at all.
RFC 5890 §2.3.2.1, RFC 5892 §2; Python's codec `idna` is that of 2003, which sends mails for
`straße.example` to `strasse.example`.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_PREFIX: Final = "xn--"
_LONGEST_LABEL: Final = 63


def unicode_domain(domain: str) -> str:
    """Return a domain in lower case with U-labels; a label that has none stays."""
    if _PREFIX not in domain:
        return domain
    return ".".join(map(_unicode_label, domain.split(".")))


def ascii_domain(domain: str) -> str:
    """Return a domain with A-labels; raises ValueError for one that has none."""
    return ".".join(map(_ascii_label, domain.split(".")))


def _unicode_label(label: str) -> str:
    if not label.startswith(_PREFIX) or len(label) > _LONGEST_LABEL:
        return label
    try:
        found = label.removeprefix(_PREFIX).encode("ascii").decode("punycode")
        is_its_form = found.isprintable() and _ascii_label(found) == label
    except ValueError:
        return label
    return found if is_its_form else label


def _ascii_label(label: str) -> str:
    if label.isascii():
        return label
    lower = unicodedata.normalize("NFC", label.lower())
    encoded = _PREFIX + lower.encode("punycode").decode("ascii")
    if unicodedata.normalize("NFKC", lower) != lower or len(encoded) > _LONGEST_LABEL:
        raise ValueError(label)
    return encoded


_LONGEST_KEY: Final = 255
"""Characters of a key; the databases index no longer ones."""
_IGNORABLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point of Unicode 15: what is not displayed."""
_DOT: Final = "\u0307"
_DOTLESS: Final = {0x131: "i", 0x237: "j"}
_FULL_STOP: Final = "\u3002"
"""The ideographic full stop, which separates labels of a domain as well. UTS #46 §2.3"""


def name_key(name: str) -> str:
    """Return the key of a name or address, a digest beyond 255 characters; idempotent."""
    key = _folded(name)
    if "@" in key:
        key = _with_unicode_domain(key)
    if len(key) <= _LONGEST_KEY:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"SHA256:{digest}"  # in capitals, which no key has


def is_plainly_written(name: str) -> bool:
    """Tell whether a name is in the form NFKC, without characters that are not displayed."""
    return unicodedata.is_normalized("NFKC", name) and is_displayed(name)


def is_displayed(name: str) -> bool:
    """Tell whether every character of a name is displayed."""
    return name.isprintable() and _IGNORABLE.search(name) is None


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    cased = unicodedata.normalize("NFKD", text).casefold()
    plain = _IGNORABLE.sub("", unicodedata.normalize("NFKD", cased)).translate(_DOTLESS)
    return unicodedata.normalize("NFKC", "".join(_without_dots(plain)))


def _without_dots(text: str) -> Iterator[str]:
    """Yield the characters of a decomposed text, without the dot above an `i` or a `j`."""
    letter = ""
    for character in text:
        if not unicodedata.combining(character):
            letter = character
        elif character == _DOT and letter in {"i", "j"}:
            continue
        yield character


def _with_unicode_domain(key: str) -> str:
    local, _, domain = key.rpartition("@")
    return f"{local}@{_folded(unicode_domain(domain.replace(_FULL_STOP, '.').rstrip('.')))}"


_ADDRESS: Final = re.compile(
    r"([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*)@([^@]{1,253})"
)
"""Without quoted parts: a comma or a bracket could name another recipient."""
_LONGEST_ADDRESS: Final = 254
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")


def smtp_address(address: str) -> str:
    """Return the address with its domain in ASCII; raises ValueError where that is impossible."""
    parts = _ADDRESS.fullmatch(address)
    if parts is None or len(address) > _LONGEST_ADDRESS:
        raise ValueError("an address is not valid or needs SMTPUTF8")
    try:
        domain = ascii_domain(parts.group(2))
    except ValueError as error:
        raise ValueError("the domain of an address is not valid") from error
    if not _DOMAIN.fullmatch(domain):
        raise ValueError("the domain of an address is not valid")
    return f"{parts.group(1)}@{domain}"
