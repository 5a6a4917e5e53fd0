"""User profiles: what is kept of what was sent, and why one is refused. Keycloak: UPConfig."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.domain.errors import InvalidInput
from gateway.domain.realm import LoginSettings
from gateway.domain.stored_profile import rules_of
from gateway.domain.user_profile import ProfileAttribute, UnmanagedPolicy, Viewer
from gateway.representations.refusals import UnknownField
from gateway.representations.user_profile import (
    ProfileRefused,
    parse_user_profile,
    render_metadata,
    standard_user_profile,
)

SCOPES = ("email",)


def with_attribute(**attribute: Any) -> dict[str, Any]:
    document = standard_user_profile()
    document["attributes"].append({"name": "x", **attribute})
    return document


def kept(**attribute: Any) -> dict[str, Any]:
    found: dict[str, Any] = parse_user_profile(with_attribute(**attribute), SCOPES)["attributes"][
        -1
    ]
    return found


def reasons(document: dict[str, Any]) -> str:
    with pytest.raises(ProfileRefused) as refused:
        parse_user_profile(document, SCOPES)
    return str(refused.value)


@pytest.mark.parametrize("demanding", [True, False])
def test_the_standard_profile_is_kept_as_it_is(*, demanding: bool) -> None:
    document = standard_user_profile(demanding=demanding)
    assert parse_user_profile(document, ()) == document
    required = {name: bool(rule.required) for name, rule in rules_of(document).attributes.items()}
    assert required == {"username": False} | dict.fromkeys(
        ("email", "firstName", "lastName"), demanding
    )


def test_a_stored_profile_is_in_keycloaks_order_with_defaults() -> None:
    given = kept(
        defaultValue="d",
        multivalued="true",
        selector={"scopes": ["email"]},
        permissions={"edit": ["admin"]},
        required={},
        annotations={"a": {"b": 1}},
        validations={"length": {"max": 5}, "email": None},
        displayName=None,
    )
    assert list(given.items()) == [
        ("name", "x"),
        ("validations", {"length": {"max": 5}, "email": {}}),
        ("annotations", {"a": {"b": 1}}),
        ("required", {}),
        ("permissions", {"view": [], "edit": ["admin"]}),
        ("selector", {"scopes": ["email"]}),
        ("multivalued", True),
        ("defaultValue", "d"),
    ]
    assert kept() == {"name": "x", "multivalued": False}


def test_what_was_kept_is_kept_again_unchanged() -> None:
    document = with_attribute(group="user-metadata", permissions={}, required={"roles": ["admin"]})
    document["unmanagedAttributePolicy"] = "ADMIN_VIEW"
    once = parse_user_profile(document, SCOPES)
    assert parse_user_profile(once, SCOPES) == once
    assert rules_of(once).unmanaged is UnmanagedPolicy.ADMIN_VIEW


def test_a_profile_has_a_largest_size() -> None:
    document = standard_user_profile()
    document["attributes"] += [{"name": f"x{count}"} for count in range(496)]
    assert len(parse_user_profile(document, ())["attributes"]) == 500
    document["attributes"].append({"name": "more"})
    assert reasons(document) == "['attributes' is no list of at most 500]"
    assert reasons({"groups": {}}) == "['groups' is no list of at most 500]"


REFUSED = {
    "[Attribute configuration without 'name' is not allowed]": with_attribute(name=" "),
    "[Attribute configuration already exists with 'name':'email']": with_attribute(name="email"),
    "[The attribute 'username' can not be removed, The attribute 'email' can not be removed]": {
        "attributes": []
    },
    "[Invalid attribute name (only letters, numbers and '.' '_' '-' special characters allowed): "
    "a b']": with_attribute(name="a b"),
    "[Validator 'nope' defined for attribute 'x' doesn't exist]": with_attribute(
        validations={"nope": {}}
    ),
    "[Validator 'length' defined for attribute 'x' has incorrect configuration: "
    "ValidationError{validatorId='length', inputHint='min', "
    "message='error-validator-config-missing-value', messageParameters=[]}, "
    "ValidationError{validatorId='length', inputHint='max', "
    "message='error-validator-config-missing-value', messageParameters=[]}, ]": with_attribute(
        validations={"length": {}}
    ),
    "['required.roles' configuration for attribute 'x' contains unsupported role 'zz']": (
        with_attribute(required={"roles": ["zz"]})
    ),
    "['required.scopes' configuration for attribute 'x' contains unsupported scope 'zz']": (
        with_attribute(required={"scopes": ["email", "zz"]})
    ),
    "['permissions.view' configuration for attribute 'x' contains unsupported role 'zz']": (
        with_attribute(permissions={"view": ["zz"]})
    ),
    "['selector.scopes' configuration for attribute 'x' contains unsupported scope 'zz']": (
        with_attribute(selector={"scopes": ["zz"]})
    ),
    "[Attribute 'x' references unknown group 'zz']": with_attribute(group="zz"),
    "[Name is mandatory for groups, found 1 group(s) without name.]": {
        **standard_user_profile(),
        "groups": [{}],
    },
}


@pytest.mark.parametrize("words", REFUSED)
def test_an_unusable_profile_is_refused_in_keycloaks_words(words: str) -> None:
    assert reasons(REFUSED[words]) == words


@pytest.mark.parametrize(
    ("document", "representation"),
    [
        ({**standard_user_profile(), "zz": 1}, "UPConfig"),
        (with_attribute(zz=1), "UPAttribute"),
        (with_attribute(required={"zz": 1}), "UPAttributeRequired"),
        (with_attribute(permissions={"zz": 1}), "UPAttributePermissions"),
        (with_attribute(selector={"zz": 1}), "UPAttributeSelector"),
        ({**standard_user_profile(), "groups": [{"name": "a", "zz": 1}]}, "UPGroup"),
    ],
)
def test_an_unknown_field_is_refused(document: dict[str, Any], representation: str) -> None:
    with pytest.raises(UnknownField) as refused:
        parse_user_profile(document, SCOPES)
    assert refused.value.representation == representation


@pytest.mark.parametrize(
    "document",
    [
        {"attributes": {}},
        {"attributes": ["x"]},
        {"attributes": [None]},
        {"attributes": [{"name": str(index)} for index in range(501)]},
        {**standard_user_profile(), "groups": "x"},
        {**standard_user_profile(), "unmanagedAttributePolicy": "NO"},
        with_attribute(name=[5]),
        with_attribute(name="x" * 3000),
        with_attribute(validations=[]),
        with_attribute(validations={"length": []}),
        with_attribute(validations={"length": 5}),
        with_attribute(annotations=[]),
        with_attribute(required=[]),
        with_attribute(required={"roles": "admin"}),
        with_attribute(permissions={"view": [5]}),
        with_attribute(multivalued="maybe"),
    ],
)
def test_json_of_another_shape_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        parse_user_profile(document, SCOPES)


def metadata(document: dict[str, Any], *, known: bool = False, **login: bool) -> dict[str, Any]:
    document = parse_user_profile(document, SCOPES)
    found = render_metadata(document, rules_of(document), LoginSettings(**login), known=known)
    return {attribute["name"]: attribute for attribute in found["attributes"]}


def test_metadata_says_what_a_form_needs_in_keycloaks_order() -> None:
    document = with_attribute(
        permissions={"view": ["admin"]},
        required={},
        annotations={"a": 1},
        group="user-metadata",
        validations={"length": {"max": 5}},
        defaultValue="d",
    )
    assert list(metadata(document)["x"].items()) == [
        ("name", "x"),
        ("displayName", "x"),
        ("required", True),
        ("readOnly", True),
        ("annotations", {"a": 1}),
        (
            "validators",
            {"length": {"max": 5, "ignore.empty.value": True}, "multivalued": {"max": "1"}},
        ),
        ("group", "user-metadata"),
        ("multivalued", False),
        ("defaultValue", "d"),
    ]


def test_multivalued_metadata_has_only_the_given_limit() -> None:
    several = with_attribute(multivalued=True, permissions={"view": ["admin"]}, displayName="X")
    found = metadata(several)["x"]
    assert (found["validators"], found["multivalued"], found["displayName"]) == ({}, True, "X")
    two = {"multivalued": {"min": 1, "max": 2}}
    given = metadata(with_attribute(validations=two, permissions={"view": ["admin"]}))["x"]
    assert given["validators"]["multivalued"] == {"min": 1, "max": 2, "ignore.empty.value": True}
    assert given["multivalued"] is False


def test_where_users_choose_a_language_metadata_tells_of_it() -> None:
    document = standard_user_profile()
    rules = rules_of(document)
    locale = ProfileAttribute("locale", multivalued=True, edit=frozenset(Viewer))
    with_locale = replace(rules, attributes={"locale": locale, **rules.attributes})
    found = render_metadata(document, with_locale, LoginSettings(), known=False)["attributes"][0]
    assert found == {
        "name": "locale",
        "displayName": "locale",
        "required": False,
        "readOnly": False,
        "validators": {},
        "multivalued": False,
    }


def test_metadata_leaves_out_what_an_administrator_does_not_see() -> None:
    theirs = with_attribute(permissions={"view": ["user"], "edit": ["user"]})
    assert list(metadata(theirs)) == ["username", "email", "firstName", "lastName"]


@pytest.mark.parametrize(
    ("known", "login", "required", "read_only"),
    [
        (False, {}, True, False),
        (True, {}, True, True),
        (True, {"edit_username_allowed": True}, True, False),
        (False, {"registration_email_as_username": True}, False, True),
    ],
)
def test_metadata_says_whether_the_user_name_may_be_changed(
    *, known: bool, login: dict[str, bool], required: bool, read_only: bool
) -> None:
    found = metadata(standard_user_profile(), known=known, **login)
    assert (found["username"]["required"], found["username"]["readOnly"]) == (required, read_only)
    assert found["email"]["required"] is login.get("registration_email_as_username", False)
    assert found["firstName"]["required"] is False


def test_metadata_of_a_bare_profile_names_the_roots() -> None:
    bare = {"attributes": [{"name": "username"}, {"name": "email"}]}
    found = metadata(bare)["email"]
    assert (found["displayName"], found["validators"]) == (
        "${email}",
        {"multivalued": {"max": "1"}},
    )


def test_without_permissions_only_identifying_fields_change() -> None:
    bare = {"attributes": [{"name": "username"}, {"name": "email"}, {"name": "firstName"}]}
    rules = rules_of(parse_user_profile(bare, SCOPES)).attributes
    assert {name: set(rule.edit) for name, rule in rules.items()} == {
        "username": set(Viewer),
        "email": set(Viewer),
        "firstName": set(),
    }


def test_rules_pass_over_a_validator_of_a_later_version() -> None:
    document = standard_user_profile()
    document["attributes"][0]["validations"]["later"] = {}
    checks = rules_of(document).attributes["username"].checks
    assert len(checks) == len(rules_of(standard_user_profile()).attributes["username"].checks)
    assert Viewer.ADMIN in rules_of(document).attributes["username"].edit
