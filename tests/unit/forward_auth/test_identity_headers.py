"""Identity headers: printable, bounded, and unambiguous."""

from dataclasses import replace
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from gateway.forward_auth.identity_headers import (
    IDENTITY_HEADERS,
    LONGEST_VALUE,
    identity_headers,
)
from tests.support.site_identities import ADA


def test_each_header_has_its_value() -> None:
    assert dict(identity_headers(ADA)) == {
        "Remote-User": "ada",
        "Remote-Email": "ada@example.test",
        "Remote-Groups": "/teams/red,/teams/a%2Cb",
        "Remote-Roles": "admin,user,portal/reader",
        "X-Realmgate-Realm": "staff",
        "X-Realmgate-Subject": "id-of-ada",
        "X-Realmgate-Client": "portal",
        "X-Realmgate-Credential": "bearer",
    }


def test_an_address_that_was_not_verified_is_not_asserted() -> None:
    found = dict(identity_headers(replace(ADA, email_verified=False)))
    assert "Remote-Email" not in found


@given(st.text(), st.lists(st.text(min_size=1), max_size=4))
def test_every_value_is_printable_and_can_be_decoded(name: str, groups: list[str]) -> None:
    found = dict(identity_headers(replace(ADA, username=name, groups=tuple(groups))))
    assert found.keys() <= set(IDENTITY_HEADERS)
    for value in found.values():
        assert value.isascii()
        assert value.isprintable()
        assert len(value) <= LONGEST_VALUE
        assert value == value.strip()
    assert unquote(found.get("Remote-User", "")) == name
    if "Remote-Groups" in found:
        assert len(found["Remote-Groups"].split(",")) <= len(groups)


def test_too_long_lists_are_cut_and_too_long_texts_omitted() -> None:
    groups = tuple(f"/{number:0>100}" for number in range(60))
    found = dict(identity_headers(replace(ADA, groups=groups, username="x" * 5000)))
    listed = found["Remote-Groups"].split(",")
    assert 35 < len(listed) < 60
    assert listed == list(groups[: len(listed)])
    assert "Remote-User" not in found
