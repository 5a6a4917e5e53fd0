"""Only a field that Keycloak's representation has not is unknown, whichever way it is spelled."""

from collections.abc import Callable

import pytest

from gateway.domain.errors import InvalidInput
from gateway.representations.certificates import parse_authority
from gateway.representations.field_table import FieldTable, StoredOnly
from gateway.representations.refusals import UnknownField
from gateway.representations.shapes import Text
from gateway.representations.sites import parse_rules_file, parse_site

TABLE = FieldTable((StoredOnly("displayName", None, Text()),), beside=("users",))


@pytest.mark.parametrize("name", ["displayName", "display_name", "users"])
def test_a_known_field_is_taken_even_where_it_is_null(name: str) -> None:
    TABLE.require_known({name: None}, "RealmRepresentation")


@pytest.mark.parametrize("name", ["displayname", "x", "", 'a"b', "users "])
def test_an_unknown_field_is_named_even_where_it_is_null(name: str) -> None:
    with pytest.raises(UnknownField) as refusal:
        TABLE.require_known({"users": [], name: None}, "RealmRepresentation", "realms[3]")
    assert (refusal.value.name, refusal.value.representation) == (name, "RealmRepresentation")
    assert refusal.value.errors[0].path == f"realms[3].{name}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("displayname", "has no such field; did you mean displayName?"),
        ("display_nam", "has no such field; did you mean displayName?"),
        ("bogus", "bogus: RealmRepresentation has no such field"),
        ("displayName" * 1000, "RealmRepresentation has no such field"),
    ],
)
def test_only_a_close_name_is_suggested(name: str, text: str) -> None:
    with pytest.raises(UnknownField) as refusal:
        TABLE.require_known({name: None}, "RealmRepresentation")
    assert str(refusal.value).endswith(text)


@pytest.mark.parametrize(
    "parse",
    [
        parse_authority,
        lambda document: parse_site(document, ""),
        lambda document: parse_rules_file(
            "\n".join(f"{name} = 0" for name in document).encode(), "rules.toml"
        ),
    ],
)
def test_of_very_many_unknown_fields_the_first_are_reported(
    parse: Callable[[dict[str, int]], object],
) -> None:
    """To suggest a close name for each of a document's would hold up other requests."""
    with pytest.raises(InvalidInput) as refusal:
        parse({f"certificat{number}": number for number in range(1_000)})
    unknown = [each for each in refusal.value.errors if "no such field" in str(each)]
    assert len(unknown) == 20
    assert "certificat0" in str(unknown[0])
