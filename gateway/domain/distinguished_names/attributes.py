"""Attribute types of X.500 names: which keyword stands for which object identifier.

Spec: RFC 4514 §3 (table), RFC 4519. Keycloak: SERIALNUMBER, BUSINESSCATEGORY,
JURISDICTIONCOUNTRYNAME, EMAILADDRESS and E are understood besides; the rest is what Java reads.
"""

import re
from dataclasses import dataclass

COMMON_NAME = "2.5.4.3"

KEYWORDS = {
    "CN": COMMON_NAME,
    "SURNAME": "2.5.4.4",
    "SERIALNUMBER": "2.5.4.5",
    "C": "2.5.4.6",
    "L": "2.5.4.7",
    "ST": "2.5.4.8",
    "STREET": "2.5.4.9",
    "O": "2.5.4.10",
    "OU": "2.5.4.11",
    "T": "2.5.4.12",
    "BUSINESSCATEGORY": "2.5.4.15",
    "GIVENNAME": "2.5.4.42",
    "INITIALS": "2.5.4.43",
    "GENERATION": "2.5.4.44",
    "DNQUALIFIER": "2.5.4.46",
    "UID": "0.9.2342.19200300.100.1.1",
    "DC": "0.9.2342.19200300.100.1.25",
    "EMAILADDRESS": "1.2.840.113549.1.9.1",
    "JURISDICTIONCOUNTRYNAME": "1.3.6.1.4.1.311.60.2.1.3",
}
ALIASES = {"E": "EMAILADDRESS", "EMAIL": "EMAILADDRESS", "S": "ST", "TITLE": "T"}
UNKNOWN_TO_LEGACY_FORM = frozenset({"BUSINESSCATEGORY", "JURISDICTIONCOUNTRYNAME"})
KEYWORD_OF = {oid: keyword for keyword, oid in KEYWORDS.items()}

DOTTED = re.compile(r"[0-2](\.(0|[1-9][0-9]{0,38})){1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a name: its type as a dotted object identifier, and its value.

    Text is `str`, whatever string type carried it; any other value is its DER encoding.
    """

    oid: str
    value: str | bytes


def type_from_text(text: str) -> str:
    """Return the object identifier that a keyword, `1.2.3` or `OID.1.2.3` stands for."""
    keyword = text.upper()
    dotted = keyword.removeprefix("OID.")
    if DOTTED.fullmatch(dotted):
        return dotted
    oid = KEYWORDS.get(ALIASES.get(keyword, keyword))
    if oid is None:
        raise ValueError(
            f"unknown attribute type {text!r} (write it as a dotted object identifier)"
        )
    return oid
