"""Only a field that Keycloak's representation has not is unknown, whichever way it is spelled."""

import pytest

from gateway.representations.field_table import FieldTable, StoredOnly
from gateway.representations.refusals import UnknownField
from gateway.representations.shapes import Text

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
