"""What becomes of attributes that an administrator sends. Keycloak: 7.2 (PUT users/{id}), 26.7."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.domain.stored_profile import rules_of
from gateway.domain.user_profile import (
    LONGEST_UNMANAGED,
    Sent,
    UnmanagedPolicy,
    UserProfile,
    Values,
    Viewer,
    Violation,
    demands,
    merged,
    values_of,
    with_values,
)
from gateway.domain.users import User
from gateway.representations.user_profile import standard_user_profile

EVERYBODY = {"view": ["admin", "user"], "edit": ["admin", "user"]}
BEFORE = {"username": ("bob",), "email": ("b@x.test",), "firstName": ("Bob",), "old": ("1",)}


def profile(*attributes: dict[str, Any], unmanaged: UnmanagedPolicy | None = None) -> UserProfile:
    document = standard_user_profile()
    document["attributes"] += [
        {"permissions": EVERYBODY, "multivalued": False, **attribute} for attribute in attributes
    ]
    return replace(rules_of(document), unmanaged=unmanaged)


def wrong(name: str, message: str, *parameters: object) -> Violation:
    return Violation(name, message, (name, *parameters))  # type: ignore[arg-type] # any


def changed(rules: UserProfile, values: Values, **given: Any) -> Any:
    locked = given.pop("locked", frozenset())
    return merged(rules, Sent(values, **given), BEFORE, locked)


READ_ONLY = "error-user-attribute-read-only"


def test_what_is_not_sent_stays() -> None:
    made = changed(profile(), {"firstName": ("Rob",)})
    assert made.values == {**BEFORE, "firstName": ("Rob",)}
    assert made.violations == ()


def test_missing_attributes_are_removed_except_the_user_name() -> None:
    rules = profile(unmanaged=UnmanagedPolicy.ADMIN_EDIT)
    assert changed(rules, {"new": ("2",)}, whole=True).values == {
        "username": ("bob",),
        "new": ("2",),
    }


@pytest.mark.parametrize("unmanaged", [None, UnmanagedPolicy.ADMIN_VIEW])
def test_unknown_attributes_are_neither_set_nor_lost(
    unmanaged: UnmanagedPolicy | None,
) -> None:
    made = changed(profile(unmanaged=unmanaged), {"old": ("2",), "new": ("3",)}, whole=True)
    assert made.values == {"username": ("bob",), "old": ("1",)}
    assert made.violations == ()


@pytest.mark.parametrize("unmanaged", [UnmanagedPolicy.ENABLED, UnmanagedPolicy.ADMIN_EDIT])
def test_they_are_set_where_the_policy_lets_administrators(unmanaged: UnmanagedPolicy) -> None:
    made = changed(profile(unmanaged=unmanaged), {"old": ("2", " ", ""), "new": ("",)})
    assert made.values == {**BEFORE, "old": ("2",)}


def test_an_unmanaged_value_has_a_largest_length() -> None:
    rules = profile(unmanaged=UnmanagedPolicy.ENABLED)
    assert changed(rules, {"a": ("x" * LONGEST_UNMANAGED,)}).violations == ()
    assert changed(rules, {"a": ("x" * (LONGEST_UNMANAGED + 1),)}).violations == (
        wrong("a", "error-invalid-length", 0, LONGEST_UNMANAGED),
    )


def test_what_a_directory_would_set_nobody_does() -> None:
    rules = profile(unmanaged=UnmanagedPolicy.ENABLED)
    assert changed(rules, {"LDAP_id": ("x",)}).violations == (
        wrong("LDAP_id", "updateReadOnlyAttributesRejectedMessage"),
    )
    linked = {**BEFORE, "LDAP_ID": ("x",)}
    assert merged(rules, Sent({"LDAP_ID": ("x",)}), linked).violations == ()


def test_blank_values_count_as_none() -> None:
    made = changed(profile({"name": "x"}), {"firstName": (" ",), "email": ("",), "x": (" ",)})
    assert made.values == {"username": ("bob",), "old": ("1",)}
    assert made.violations == ()


def test_an_attribute_read_only_to_admins_stays_or_is_refused() -> None:
    rules = profile({"name": "old", "permissions": {"view": ["admin"], "edit": ["user"]}})
    assert changed(rules, {"old": ("2",)}).violations == (wrong("old", READ_ONLY),)
    for values, whole in (({"old": ("1",)}, False), ({}, True), ({"old": ("1", "")}, False)):
        made = changed(rules, values, whole=whole)
        assert (made.values["old"], made.violations) == (("1",), ())


def test_it_is_passed_over_at_the_creation_of_a_user() -> None:
    rules = profile({"name": "x", "permissions": {"view": ["admin"], "edit": ["user"]}})
    made = merged(rules, Sent({"username": ("bob",), "x": ("1",)}), None)
    assert (made.values, made.violations) == ({"username": ("bob",)}, ())


def test_a_new_user_gets_its_name_whoever_may_change_it_later() -> None:
    document = standard_user_profile()
    document["attributes"][0]["permissions"] = {"view": [], "edit": []}
    made = merged(rules_of(document), Sent({"username": ("bob",)}), None)
    assert made.values == {"username": ("bob",)}
    (short,) = merged(rules_of(document), Sent({"username": ("ab",)}), None).violations
    assert short.message == "error-invalid-length"
    renamed = merged(rules_of(document), Sent({"username": ("rob",)}), BEFORE)
    assert renamed.violations == (wrong("username", READ_ONLY),)


def test_locked_fields_are_never_changed_nor_validated() -> None:
    short = {**BEFORE, "username": ("ab",)}
    locked = frozenset({"username"})
    made = merged(profile(), Sent({"firstName": ("A",)}), short, locked)
    assert made.violations == ()
    refused = merged(profile(), Sent({"username": ("other",)}), short, locked)
    assert refused.violations == (wrong("username", READ_ONLY),)


def test_values_already_wrong_are_refused_with_any_change() -> None:
    bad = {**BEFORE, "email": ("nobody",)}
    assert merged(profile(), Sent({"firstName": ("A",)}), bad).violations == (
        wrong("email", "error-invalid-email", "nobody"),
    )


def test_a_value_is_demanded_of_whom_the_profile_names() -> None:
    missing = (wrong("x", "error-user-attribute-required"),)
    for required, violations in (
        ({}, missing),
        ({"roles": []}, missing),
        ({"roles": ["admin"]}, missing),
        ({"roles": ["user"]}, ()),
        ({"roles": ["admin"], "scopes": ["email"]}, ()),
    ):
        rules = profile({"name": "x", "required": required})
        for sent in ({}, {"x": ()}, {"x": (" ",)}):
            assert changed(rules, sent).violations == violations, required


def test_a_default_value_stands_where_none_is_given() -> None:
    rules = profile({"name": "x", "defaultValue": "std"})
    assert changed(rules, {"x": ("",)}).values["x"] == ("std",)
    assert changed(rules, {"x": ("own",)}).values["x"] == ("own",)


def test_an_attribute_has_one_value_unless_the_profile_says_more() -> None:
    assert changed(profile({"name": "x"}), {"x": ("1", "2")}).violations == (
        wrong("x", "error-invalid-multivalued-size", 0, 1),
    )
    limited = profile({"name": "x", "validations": {"multivalued": {"min": 1, "max": 2}}})
    assert changed(limited, {"x": ("1", "2")}).violations == ()
    assert changed(limited, {}).violations == (wrong("x", "error-invalid-multivalued-size", 1, 2),)
    several = profile({"name": "x", "multivalued": True})
    assert changed(several, {"x": ("1", "2")}).values["x"] == ("1", "2")


def test_every_violation_is_told_in_the_order_of_the_profile() -> None:
    sent = {"username": ("a b",), "email": ("no",), "firstName": ("x" * 256,)}
    assert [one.field for one in changed(profile(), sent).violations] == [
        *("username", "email", "firstName")
    ]


def test_at_sign_in_a_user_completes_editable_required_fields() -> None:
    values = {"username": ("bob",), "email": ("no",)}
    found = [(one.field, one.message) for one in demands(profile(), values, Viewer.USER)]
    assert found == [
        ("email", "error-invalid-email"),
        ("firstName", "error-user-attribute-required"),
        ("lastName", "error-user-attribute-required"),
    ]
    scoped = {"name": "x", "required": {}, "selector": {"scopes": ["email"]}}
    hidden = {"name": "y", "required": {}, "permissions": {"view": [], "edit": ["admin"]}}
    full = {**BEFORE, "lastName": ("B",)}
    rules = profile(scoped, hidden)
    assert list(demands(rules.requested_with(frozenset()), full, Viewer.USER)) == []
    asked = rules.requested_with(frozenset({"email"}))
    assert [one.field for one in demands(asked, full, Viewer.USER)] == ["x"]
    assert list(demands(profile({"name": "z", "required": {}}), full, Viewer.USER)) != []


@pytest.mark.parametrize("policy", [None, UnmanagedPolicy.ADMIN_EDIT, UnmanagedPolicy.ADMIN_VIEW])
def test_users_edit_unknown_attributes_where_the_policy_allows(
    policy: UnmanagedPolicy | None,
) -> None:
    before = {**BEFORE, "lastName": ("B",), "long": ("x" * 3000,)}
    sent = Sent({"old": ("2",), "new": ("3",)})
    kept = merged(replace(profile(), unmanaged=policy), sent, before, viewer=Viewer.USER)
    assert (kept.values, kept.violations) == (before, ())
    rules = replace(profile(), unmanaged=UnmanagedPolicy.ENABLED)
    made = merged(rules, sent, before, viewer=Viewer.USER)
    assert (made.values, made.violations) == ({**before, **sent.values}, ())


@pytest.mark.parametrize(
    "name", ["disabledReason", "userCertificate", "LDAP_ID", "saml.persistent.name.id.for.x"]
)
def test_users_never_edit_attributes_that_decide_about_them(name: str) -> None:
    rules = replace(profile(), unmanaged=UnmanagedPolicy.ENABLED)
    before = {**BEFORE, "lastName": ("B",), name: ("1",)}
    for sent in (Sent({**before, name: ("2",)}, whole=True), Sent({name: ()})):
        made = merged(rules, sent, before, viewer=Viewer.USER)
        found = [(one.field, one.message) for one in made.violations]
        assert found == [(name, "updateReadOnlyAttributesRejectedMessage")]
    left_out = merged(
        rules, Sent({**BEFORE, "lastName": ("B",)}, whole=True), before, viewer=Viewer.USER
    )
    assert (left_out.values[name], left_out.violations) == (("1",), ())


def test_values_and_user_are_two_forms_of_the_same() -> None:
    user = User("1", "r", "bob", enabled=True, created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert values_of(user) == {"username": ("bob",)}
    full = with_values(user, BEFORE)
    assert (full.email, full.first_name, full.last_name) == ("b@x.test", "Bob", None)
    assert full.attributes == {"old": ("1",)}
    assert values_of(full) == BEFORE


def test_only_what_the_viewer_may_see_is_shown() -> None:
    rules = profile(
        {"name": "both"},
        {"name": "theirs", "permissions": {"view": ["user"], "edit": ["user"]}},
        {"name": "edit", "permissions": {"view": [], "edit": ["admin"]}},
    )
    values = dict.fromkeys(("email", "both", "theirs", "edit", "free"), ("v",))
    assert list(rules.shown(values, Viewer.ADMIN)) == ["both", "edit"]
    seeing = replace(rules, unmanaged=UnmanagedPolicy.ADMIN_VIEW)
    assert list(seeing.shown(values, Viewer.ADMIN)) == ["both", "edit", "free"]
