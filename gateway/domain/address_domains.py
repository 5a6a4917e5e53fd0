"""Domains of e-mail addresses that are not in ASCII, in their two forms.

`bücher.example` (U-label) and `xn--bcher-kva.example` (A-label) are one domain. A U-label is lower
case in the normal forms NFC and NFKC: what is not, such as a ligature, is no domain at all.
RFC 5890 §2.3.2.1, RFC 5892 §2; Python's codec `idna` is that of 2003, which sends mails for
`straße.example` to `strasse.example`.
"""

import unicodedata
from typing import Final

_PREFIX: Final = "xn--"
_LONGEST: Final = 63


def unicode_domain(domain: str) -> str:
    """Return a domain in lower case with U-labels; a label that has none stays."""
    if _PREFIX not in domain:
        return domain
    return ".".join(map(_unicode_label, domain.split(".")))


def ascii_domain(domain: str) -> str:
    """Return a domain with A-labels; raises ValueError for one that has none."""
    return ".".join(map(_ascii_label, domain.split(".")))


def _unicode_label(label: str) -> str:
    if not label.startswith(_PREFIX) or len(label) > _LONGEST:
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
    if unicodedata.normalize("NFKC", lower) != lower or len(encoded) > _LONGEST:
        raise ValueError(label)
    return encoded
