"""Reading and writing realms. Spec: part 2.1; Keycloak: RealmRepresentation."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given

from gateway.domain.errors import InvalidInput
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.realm import Realm, SslRequired
from gateway.domain.secrets import Secret
from gateway.representations.realms.realm import (
    create_realm,
    parse_realm,
    render_realm,
    resources_not_imported,
    update_realm,
)
from gateway.representations.shapes import Count, ObjectId, TextOrNull, is_absent
from tests.support.realms import SPECIFICATION_SETTINGS, dump_realm, realms, thorough

ACME = {"realm": "acme"}


def errors(document: Any, **options: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as refusal:
        parse_realm(document, **options)
    return {error.path: (error.given, error.allowed) for error in refusal.value.errors}


@given(realms())
@thorough
def test_what_is_written_is_read_back_to_an_equal_realm(realm: Realm) -> None:
    assert parse_realm(json.loads(dump_realm(realm, masked=False))) == realm


def headers(realm: Realm) -> dict[str, str]:
    return dict(realm.security_headers.values)


@given(realms())
@thorough
def test_a_fetched_body_put_back_changes_nothing(realm: Realm) -> None:
    assert parse_realm(render_realm(realm), base=realm) == realm


@given(realms())
@thorough
def test_the_text_is_the_same_byte_for_byte_after_a_round_trip(realm: Realm) -> None:
    text = dump_realm(realm)
    again = parse_realm(json.loads(text), base=realm)
    assert dump_realm(again) == text


@given(realms(), realms())
@thorough
def test_putting_a_realm_over_another_copies_all_but_the_id(one: Realm, other: Realm) -> None:
    merged = parse_realm(render_realm(one, masked=False), base=other)
    absent = {
        "display_name",
        "display_name_html",
        "login_theme",
        "account_theme",
        "email_theme",
        "password_policy",
    }
    absent |= {"events", "localization"}
    lasting = {"id", "default_role", "security_headers"}
    excluding = {"login"}
    ours = one.__dataclass_fields__.keys() - absent - lasting - excluding - {"unmodelled", "smtp"}
    for name in ours:
        assert getattr(merged, name) == getattr(one, name), name
    assert headers(merged) == headers(other) | headers(one)
    assert (merged.id, merged.default_role_name) == (other.id, other.default_role_name)


_FOLLOWS = "otpSupportedApplications"
"""Computed from the settings of one-time passwords."""


@pytest.mark.parametrize("spelling", [0, 1], ids=["snake_case", "camelCase"])
@pytest.mark.parametrize("name", SPECIFICATION_SETTINGS)
def test_each_specified_setting_is_read_in_both_spellings(name: str, spelling: int) -> None:
    camel, value = SPECIFICATION_SETTINGS[name]
    document = ACME | {(name, camel)[spelling]: value}
    written = render_realm(parse_realm(document))
    assert written[camel] == value
    if camel not in {"id", "realm"}:
        untouched = render_realm(parse_realm(ACME))
        del untouched[_FOLLOWS], written[_FOLLOWS]
        assert written[camel] != untouched.get(camel)
        assert {**written, camel: None} == {**untouched, camel: None}


@pytest.mark.parametrize("name", SPECIFICATION_SETTINGS)
def test_both_spellings_of_one_setting_are_refused(name: str) -> None:
    camel, value = SPECIFICATION_SETTINGS[name]
    if name == camel:
        return
    assert errors(ACME | {name: value, camel: value})[camel][1] == "one spelling"


@pytest.mark.parametrize("name", SPECIFICATION_SETTINGS)
def test_a_setting_of_the_wrong_type_is_refused_by_its_name(name: str) -> None:
    wrong = [[5.5]]
    assert {found.partition("[")[0] for found in errors(ACME | {name: wrong})} == {name}


def test_creation_defaults_are_those_of_keycloak() -> None:
    written = render_realm(parse_realm(ACME))
    expected = {
        "id": "acme",
        "realm": "acme",
        "notBefore": 0,
        "defaultSignatureAlgorithm": "RS256",
        "revokeRefreshToken": False,
        "refreshTokenMaxReuse": 0,
        "accessTokenLifespan": 300,
        "accessTokenLifespanForImplicitFlow": 900,
        "ssoSessionIdleTimeout": 1800,
        "ssoSessionMaxLifespan": 36000,
        "ssoSessionIdleTimeoutRememberMe": 0,
        "ssoSessionMaxLifespanRememberMe": 0,
        "offlineSessionIdleTimeout": 2592000,
        "offlineSessionMaxLifespanEnabled": False,
        "offlineSessionMaxLifespan": 5184000,
        "clientSessionIdleTimeout": 0,
        "clientSessionMaxLifespan": 0,
        "clientOfflineSessionIdleTimeout": 0,
        "clientOfflineSessionMaxLifespan": 0,
        "accessCodeLifespan": 60,
        "accessCodeLifespanUserAction": 300,
        "accessCodeLifespanLogin": 1800,
        "actionTokenGeneratedByAdminLifespan": 43200,
        "actionTokenGeneratedByUserLifespan": 300,
        "oauth2DeviceCodeLifespan": 600,
        "oauth2DevicePollingInterval": 5,
        "enabled": False,
        "sslRequired": "external",
        "registrationAllowed": False,
        "registrationEmailAsUsername": False,
        "rememberMe": False,
        "verifyEmail": False,
        "loginWithEmailAllowed": True,
        "duplicateEmailsAllowed": False,
        "resetPasswordAllowed": False,
        "editUsernameAllowed": False,
        "bruteForceProtected": False,
        "permanentLockout": False,
        "maxTemporaryLockouts": 0,
        "bruteForceStrategy": "MULTIPLE",
        "maxFailureWaitSeconds": 900,
        "minimumQuickLoginWaitSeconds": 60,
        "waitIncrementSeconds": 60,
        "quickLoginCheckMilliSeconds": 1000,
        "maxDeltaTimeSeconds": 43200,
        "failureFactor": 30,
        "maxSecondaryAuthFailures": 0,
        "requiredCredentials": ["password"],
        "otpPolicyType": "totp",
        "otpPolicyAlgorithm": "HmacSHA1",
        "otpPolicyInitialCounter": 0,
        "otpPolicyDigits": 6,
        "otpPolicyLookAheadWindow": 1,
        "otpPolicyPeriod": 30,
        "otpPolicyCodeReusable": False,
    }
    assert list(written.items())[: len(expected)] == list(expected.items())
    assert written["eventsListeners"] == ["jboss-logging"]
    assert written["browserSecurityHeaders"] == {
        "contentSecurityPolicyReportOnly": "",
        "xContentTypeOptions": "nosniff",
        "referrerPolicy": "no-referrer",
        "xRobotsTag": "none",
        "xFrameOptions": "SAMEORIGIN",
        "contentSecurityPolicy": "frame-src 'self'; frame-ancestors 'self'; object-src 'none';",
        "strictTransportSecurity": "max-age=31536000; includeSubDomains",
    }
    assert {"displayName", "passwordPolicy", "eventsExpiration"}.isdisjoint(written)


def test_master_alone_is_created_with_a_shorter_access_token() -> None:
    assert parse_realm({"realm": "master"}).token_lifespans.access_token == timedelta(seconds=60)
    assert parse_realm(ACME).token_lifespans.access_token == timedelta(seconds=300)


def test_absent_and_null_settings_stay_in_a_partial_update() -> None:
    before = parse_realm(ACME | {"displayName": "Acme", "failureFactor": 6, "enabled": True})
    after = parse_realm({"displayName": None, "rememberMe": True}, base=before)
    assert after == replace(before, login=replace(before.login, remember_me=True))
    assert parse_realm({"displayName": ""}, base=before).display_name == ""


def test_an_update_renames_but_never_changes_the_id() -> None:
    before = parse_realm({"realm": "old", "id": "fixed"})
    after = parse_realm({"realm": "new", "id": "other"}, base=before)
    assert (after.id, after.name) == ("fixed", "new")


def test_unknown_settings_are_kept_verbatim_at_the_end() -> None:
    document = ACME | {"zebra": {"b": [1, None], "a": 2}, "ape": "x", "emailTheme": "dark"}
    realm = parse_realm(document)
    written = render_realm(realm)
    assert list(written)[-2:] == ["zebra", "ape"]
    assert list(written["zebra"]) == ["b", "a"]
    assert written["emailTheme"] == "dark"
    assert parse_realm({"enabled": True}, base=realm).unmodelled == realm.unmodelled


def test_embedded_resources_are_not_kept_as_settings() -> None:
    document = ACME | {"clients": [{"secret": "s"}], "identityProviders": [{"x": 1}], "groups": []}
    assert parse_realm(document) == parse_realm(ACME)
    assert resources_not_imported(document) == ("identityProviders",)


@pytest.mark.parametrize("given", ["ALL", "All", "all"])
def test_ssl_required_is_read_in_any_case_and_written_in_lower(given: str) -> None:
    realm = parse_realm(ACME | {"sslRequired": given})
    assert realm.ssl_required is SslRequired.ALL
    assert render_realm(realm)["sslRequired"] == "all"


@pytest.mark.parametrize(
    ("given", "read"), [("true", True), ("false", False), (1, True), (0, False)]
)
def test_scalars_of_other_types_are_booleans(given: object, read: object) -> None:
    assert parse_realm(ACME | {"enabled": given}).enabled is read


@pytest.mark.parametrize("given", ["True", "yes", 1.5, [], {}])
def test_nothing_else_is_a_boolean(given: object) -> None:
    assert errors(ACME | {"enabled": given})["enabled"][1] == "true or false"


@pytest.mark.parametrize("word", ["null", " ", "0"])
def test_words_for_no_number_are_texts_elsewhere(word: str) -> None:
    """A mapper of a client may have the id "null", a theme any name."""
    assert not any(is_absent(shape, word) for shape in (TextOrNull(), ObjectId()))
    assert is_absent(Count(), word) is (word != "0")


@pytest.mark.parametrize("given", ["300", "0300", " 300", "+300", 300.0])
def test_digits_are_read_as_their_number(given: object) -> None:
    assert parse_realm(ACME | {"accessTokenLifespan": given}) == parse_realm(
        ACME | {"accessTokenLifespan": 300}
    )


@pytest.mark.parametrize(
    "given",
    [
        True,
        "true",
        "300.0",
        "3e2",
        "³",
        "-1",
        "9" * 19,
        -1,
        2**31,
        10**400,
        [],
        {},
    ],
)
def test_a_lifespan_is_a_bounded_whole_number(given: object) -> None:
    assert "accessTokenLifespan" in errors(ACME | {"accessTokenLifespan": given})


@pytest.mark.parametrize("name", ["accessTokenLifespan", "enabled", "refreshTokenMaxReuse"])
def test_an_empty_text_for_a_number_or_a_boolean_is_null(name: str) -> None:
    before = parse_realm(ACME | {"accessTokenLifespan": 7, "enabled": True})
    assert parse_realm({name: ""}, base=before) == before


@pytest.mark.parametrize(
    "name", ["accessTokenLifespan", "ssoSessionIdleTimeout", "ssoSessionMaxLifespan"]
)
def test_a_duration_may_be_zero_as_in_keycloak_and_not_below(name: str) -> None:
    assert render_realm(parse_realm(ACME | {name: 0}))[name] == 0
    assert name in errors(ACME | {name: -1})


def test_the_longest_duration_is_accepted() -> None:
    realm = parse_realm(ACME | {"accessTokenLifespan": 2**31 - 1})
    assert render_realm(realm)["accessTokenLifespan"] == 2**31 - 1


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b ",
        "a/b",
        "a?b",
        "a#b",
        "a%b",
        "a;b",
        "a\\b",
        "a\nb",
        "a\0b",
        "a\u200bb",
        "\ud800",
        ".",
        "..",
        "x" * 256,
        ["a"],
    ],
)
def test_an_ambiguous_realm_name_is_refused(name: object) -> None:
    assert "realm" in errors({"realm": name})


def test_a_realm_without_a_name_is_refused() -> None:
    assert errors({})["realm"][0] == "nothing"
    assert errors({}, path="[3]")["[3].realm"][0] == "nothing"


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
@pytest.mark.parametrize("name", ["displayName", "loginTheme", "unknown"])
def test_text_that_no_store_holds_is_refused_everywhere(name: str, value: str) -> None:
    assert name in errors(ACME | {name: value})


def test_unknown_settings_too_deep_or_inexact_are_refused() -> None:
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    found = errors(ACME | {"deep": deep, "huge": {"n": 2**63}, "endless": [float("inf")]})
    assert len(found) == 3
    assert "huge.n" in found
    assert "endless[0]" in found


def test_every_wrong_field_is_told_at_once_with_what_is_allowed() -> None:
    found = errors(
        {
            "realm": " a b",
            "ssl_required": "some",
            "otpPolicyDigits": 7,
            "otpPolicyAlgorithm": "MD5",
            "eventsListeners": ["email", []],
            "attributes": {"x": [1]},
            "defaultSignatureAlgorithm": "none",
            "bruteForceStrategy": "multiple",
        }
    )
    assert found.keys() == {
        "realm",
        "ssl_required",
        "otpPolicyDigits",
        "otpPolicyAlgorithm",
        "eventsListeners[1]",
        "attributes.x",
        "defaultSignatureAlgorithm",
        "bruteForceStrategy",
    }
    assert found["ssl_required"] == ('"some"', "one of none, external, all")
    assert found["otpPolicyDigits"] == ("7", "one of 6, 8")


def test_what_was_given_is_shown_shortened_and_escaped() -> None:
    found = errors({"realm": "a\x1b[31m" + "x" * 1000})
    given, _ = found["realm"]
    assert "\x1b" not in given
    assert len(given) < 120


def test_a_document_that_is_no_object_is_refused() -> None:
    assert errors([])["realm"][1] == "an object"


def test_attributes_of_a_new_realm_are_added_to_the_default_ones() -> None:
    realm = create_realm(
        ACME | {"attributes": {"shortVerificationUri": "https://x", "cibaInterval": "9"}}
    )
    assert realm.attributes["shortVerificationUri"] == "https://x"
    assert realm.attributes["cibaInterval"] == "9"
    assert realm.attributes["parRequestUriLifespan"] == "60"


def test_security_headers_that_an_update_does_not_name_stay() -> None:
    """Else who frames the realm otherwise would lose HSTS and the rest, unnoticed."""
    before = create_realm(ACME | {"browserSecurityHeaders": {"referrerPolicy": "origin"}})
    after = update_realm({"browserSecurityHeaders": {"xFrameOptions": "DENY"}}, before)
    assert headers(after) == headers(before) | {"xFrameOptions": "DENY"}
    assert update_realm({"browserSecurityHeaders": {}}, after) == after
    assert update_realm(render_realm(after), after) == after


def test_null_removes_a_security_header_and_empty_disables_it() -> None:
    before = create_realm(ACME)
    sent = {"browserSecurityHeaders": {"xRobotsTag": None, "referrerPolicy": ""}}
    after = update_realm(sent, before)
    kept = {name: text for name, text in headers(before).items() if name != "xRobotsTag"}
    assert headers(after) == kept | {"referrerPolicy": ""}
    assert parse_realm(render_realm(after)) == after, "what is stored is read as it is"


def test_security_headers_of_a_new_realm_join_the_defaults() -> None:
    realm = create_realm(ACME | {"browserSecurityHeaders": {"xFrameOptions": "SOMEORIGIN"}})
    assert headers(realm) == headers(create_realm(ACME)) | {"xFrameOptions": "SOMEORIGIN"}


_SHARED, _SIGN_IN, _NAME = USES_OF_ADDRESSES = (
    "duplicateEmailsAllowed",
    "loginWithEmailAllowed",
    "registrationEmailAsUsername",
)


@pytest.mark.parametrize(
    ("switched_on", "sent", "then"),
    [
        ({_SIGN_IN}, {_SHARED: True}, {_SHARED}),
        ({_SHARED}, {_SIGN_IN: True}, {_SIGN_IN}),
        ({_SHARED}, {_NAME: True}, {_NAME}),
        ({_NAME}, {_SHARED: True}, {_SHARED}),
        ({_SIGN_IN}, {_SHARED: True, _SIGN_IN: True, _NAME: True}, {_SHARED}),
        ({_SHARED}, {_SIGN_IN: False, _NAME: False}, {_SHARED}),
        ({_SIGN_IN, _NAME}, {_SHARED: False}, {_SIGN_IN, _NAME}),
    ],
)
def test_an_address_is_shared_or_names_one_user(
    switched_on: set[str], sent: dict[str, bool], then: set[str]
) -> None:
    """As in Keycloak: what is switched on switches the other off."""
    before = create_realm(ACME | {name: name in switched_on for name in USES_OF_ADDRESSES})
    after = render_realm(update_realm(sent, before))
    assert {name for name in USES_OF_ADDRESSES if render_realm(before)[name]} == switched_on
    assert {name for name in USES_OF_ADDRESSES if after[name]} == then


def test_shared_addresses_of_a_new_realm_disable_address_sign_in() -> None:
    assert create_realm(ACME | {_SHARED: True}).login.login_with_email_allowed is False


def test_attributes_in_an_update_replace_the_map() -> None:
    after = parse_realm({"attributes": {"a": "1"}}, base=parse_realm(ACME))
    assert after.attributes == {"a": "1"}


@pytest.mark.parametrize(("given", "text"), [(True, "true"), (5, "5"), ("x", "x")])
def test_scalars_in_a_string_map_become_strings(given: object, text: str) -> None:
    realm = parse_realm(ACME | {"attributes": {"a": given, "none": None}})
    assert realm.attributes == {"a": text}


def test_of_a_field_and_its_attribute_the_changed_one_counts() -> None:
    before = parse_realm(ACME)
    body = render_realm(before)
    by_attribute = parse_realm(
        body | {"attributes": {**body["attributes"], "realmReusableOtpCode": "true"}}, base=before
    )
    assert by_attribute.otp_policy.code_reusable is True
    by_field = parse_realm(body | {"oauth2DeviceCodeLifespan": 77}, base=before)
    assert by_field.token_lifespans.device_code == timedelta(seconds=77)
    assert by_field.attributes["oauth2DeviceCodeLifespan"] == "77"
    both = {"oauth2DeviceCodeLifespan": 77, "attributes": {"oauth2DeviceCodeLifespan": "88"}}
    assert parse_realm(body | both, base=before).token_lifespans.device_code.seconds == 77
    wrong = body | {"attributes": {"oauth2DevicePollingInterval": "soon"}}
    assert "attributes.oauth2DevicePollingInterval" in errors(wrong, base=before)


@pytest.mark.parametrize("value", ["canary", ["canary"], 1, True])
def test_what_stands_in_place_of_the_mail_server_is_not_told(value: object) -> None:
    """It may be the password, put one level too high."""
    assert errors(ACME | {"smtpServer": value}) == {
        "smtpServer": ("a hidden value", "an object of texts")
    }


def test_the_mail_password_is_masked_and_the_mask_keeps_it() -> None:
    mail = {"host": "mail.test", "port": "587", "auth": "true", "user": "u", "password": "canary"}
    before = parse_realm(ACME | {"smtpServer": mail})
    assert before.smtp.password == Secret("canary")
    assert b"canary" not in dump_realm(before)
    assert "canary" not in repr(before)
    body = render_realm(before)
    assert body["smtpServer"]["password"] == "**********"
    assert parse_realm(body, base=before).smtp.password == Secret("canary")
    assert parse_realm(body).smtp.password is None
    assert render_realm(before, masked=False)["smtpServer"] == mail
    changed = {"smtpServer": {"host": "mail.test", "password": "new"}}
    assert parse_realm(changed, base=before).smtp.password == Secret("new")
    assert parse_realm({"smtpServer": {"host": "h"}}, base=before).smtp.password is None


def test_the_mail_token_secret_is_masked_and_kept_by_the_mask() -> None:
    mail = {
        "host": "mail.test",
        "authType": "token",
        "authTokenUrl": "https://token.test",
        "authTokenClientSecret": "canary",
    }
    before = parse_realm(ACME | {"smtpServer": mail})
    assert b"canary" not in dump_realm(before)
    assert "canary" not in repr(before)
    body = render_realm(before)
    assert body["smtpServer"] == mail | {"authTokenClientSecret": "**********"}
    assert render_realm(parse_realm(body, base=before), masked=False)["smtpServer"] == mail
    assert parse_realm(body).smtp.token_secret is None


@pytest.mark.parametrize(
    ("place", "kept"), [("host", (False, False)), ("authTokenUrl", (True, False))]
)
def test_the_mask_sends_no_secret_elsewhere(place: str, kept: tuple[bool, bool]) -> None:
    """Another mail server gets neither the password nor a token that the secret buys."""
    mail = {
        "host": "mail.test",
        "password": "canary",
        "authTokenUrl": "https://token.test",
        "authTokenClientSecret": "canary",
    }
    before = parse_realm(ACME | {"smtpServer": mail})
    shown = render_realm(before)["smtpServer"]
    moved = parse_realm({"smtpServer": shown | {place: "https://elsewhere"}}, base=before).smtp
    assert (moved.password, moved.token_secret) == tuple(
        Secret("canary") if each else None for each in kept
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "0"),
        ("port", "65536"),
        ("port", "smtp"),
        ("ssl", "on"),
        ("from", "a\r\nBcc: b"),
        ("password", 12345678901),
        ("password", "canary\0"),
        ("authTokenClientSecret", ["canary"]),
    ],
)
def test_an_unusable_mail_server_is_refused_without_its_password(name: str, value: object) -> None:
    found = errors(ACME | {"smtpServer": {"host": "h", name: value}})
    assert found.keys() == {f"smtpServer.{name}"}
    if name in {"password", "authTokenClientSecret"}:
        assert found[f"smtpServer.{name}"][0] == "a hidden value"


def test_every_signature_algorithm_is_accepted() -> None:
    for algorithm in SignatureAlgorithm:
        realm = parse_realm(ACME | {"defaultSignatureAlgorithm": algorithm.value})
        assert realm.default_signature_algorithm is algorithm


def test_an_answer_shares_nothing_with_the_next_one() -> None:
    realm = parse_realm(ACME)
    render_realm(realm)["clientProfiles"]["profiles"].append("changed")
    assert render_realm(realm)["clientProfiles"] == {"profiles": []}


def test_a_new_name_leaves_the_default_role_its_name() -> None:
    renamed = parse_realm({"realm": "Other"}, base=parse_realm(ACME))
    assert (renamed.name, renamed.default_role_name) == ("Other", "default-roles-acme")
    assert render_realm(renamed)["defaultRole"] == {"name": "default-roles-acme"}
    assert "defaultRole" not in render_realm(renamed.named("acme"))


def test_a_file_names_the_default_role_and_an_update_does_not() -> None:
    role = {"defaultRole": {"id": "x", "name": "everybody", "composite": True}}
    assert parse_realm(ACME | role).default_role_name == "everybody"
    assert parse_realm(role, base=parse_realm(ACME)).default_role_name == "default-roles-acme"
    assert parse_realm(ACME | {"defaultRole": {}}).default_role_name == "default-roles-acme"
    assert errors(ACME | {"defaultRole": {"id": "x"}}).keys() == {"defaultRole.name"}
    assert errors(ACME | {"defaultRole": "everybody"}).keys() == {"defaultRole"}
