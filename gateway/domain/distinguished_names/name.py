"""The value of a distinguished name, and its written forms.

Spec: RFC 4514 §2. Keycloak: the regex comparison of tls_client_auth looks at Java's legacy form.
"""

from dataclasses import dataclass

from gateway.domain.distinguished_names.attributes import (
    COMMON_NAME,
    KEYWORD_OF,
    UNKNOWN_TO_LEGACY_FORM,
    Attribute,
)
from gateway.domain.distinguished_names.der import encode_object_identifier, encode_text

ESCAPED_ANYWHERE = frozenset('"+,;<>\\=')
QUOTED_IN_LEGACY_FORM = frozenset(',+=\n<>#;\\"')


@dataclass(frozen=True, slots=True)
class DistinguishedName:
    """A name as parsed: relative names in the order of the encoding, most significant first.

    Two names are equal when the same types have exactly the same text in the same order; inside
    a multi-valued relative name order does not count. Case and spaces inside values do count:
    folding them (RFC 4517) would let two certificates that a CA holds apart pass for one another.
    """

    relative_names: tuple[tuple[Attribute, ...], ...] = ()

    def __post_init__(self) -> None:
        """Bring multi-valued relative names into one order."""
        ordered = tuple(tuple(sorted(rdn, key=_sort_key)) for rdn in self.relative_names)
        object.__setattr__(self, "relative_names", ordered)

    def __str__(self) -> str:
        return self.rfc4514()

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """All attributes, those of multi-valued relative names included."""
        return tuple(attribute for rdn in self.relative_names for attribute in rdn)

    @property
    def common_names(self) -> tuple[str | bytes, ...]:
        """Every CN, however many there are."""
        return tuple(item.value for item in self.attributes if item.oid == COMMON_NAME)

    def rfc4514(self) -> str:
        """Write as RFC 4514, least significant first; control characters as hex pairs."""
        return ",".join("+".join(map(_rfc4514, rdn)) for rdn in reversed(self.relative_names))

    def legacy_rendering(self) -> str:
        """Write as Java's `X500Principal.toString()` does: `CN=x, OU=y, O=z`.

        A value with a character that has a meaning in names is quoted, so it cannot pose as
        further relative names. A multi-valued relative name is in the order of its encoding.
        """
        ordered = (sorted(rdn, key=_encoded) for rdn in reversed(self.relative_names))
        return ", ".join(" + ".join(map(_legacy, rdn)) for rdn in ordered)


def _sort_key(attribute: Attribute) -> tuple[str, bool, bytes]:
    if isinstance(attribute.value, bytes):
        return attribute.oid, True, attribute.value
    return attribute.oid, False, attribute.value.encode("utf-8", "surrogatepass")


def _encoded(attribute: Attribute) -> tuple[int, bytes]:
    """Return length and content of the encoding, by which DER orders a set. Spec: X.690 §11.6."""
    value = attribute.value
    encoded = value if isinstance(value, bytes) else encode_text(value)
    content = encode_object_identifier(attribute.oid) + encoded
    return len(content), content


def _rfc4514(attribute: Attribute) -> str:
    keyword, value = KEYWORD_OF.get(attribute.oid), attribute.value
    if isinstance(value, bytes):
        return f"{keyword or attribute.oid}=#{value.hex()}"
    if keyword is None:
        return f"{attribute.oid}=#{encode_text(value).hex()}"
    return f"{keyword}={_escaped(value)}"


def _escaped(value: str) -> str:
    last = len(value) - 1
    return "".join(
        _escaped_character(character, at_start=index == 0, at_end=index == last)
        for index, character in enumerate(value)
    )


def _escaped_character(character: str, *, at_start: bool, at_end: bool) -> str:
    if character in ESCAPED_ANYWHERE:
        return f"\\{character}"
    if (character == " " and (at_start or at_end)) or (character == "#" and at_start):
        return f"\\{character}"
    if not character.isprintable():
        return "".join(f"\\{byte:02X}" for byte in character.encode())
    return character


def _legacy(attribute: Attribute) -> str:
    keyword = KEYWORD_OF.get(attribute.oid)
    if keyword is None or keyword in UNKNOWN_TO_LEGACY_FORM:
        keyword = f"OID.{attribute.oid}"
    if isinstance(attribute.value, bytes):
        return f"{keyword}=#{attribute.value.hex().upper()}"
    return f"{keyword}={_quoted_if_needed(attribute.value)}"


def _quoted_if_needed(value: str) -> str:
    if not (QUOTED_IN_LEGACY_FORM & set(value) or value != value.strip() or "  " in value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
