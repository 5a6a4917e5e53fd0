"""Documents of our own: what they keep, what they refuse, and those of the version before."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given

from gateway.domain.realm import Realm, Smtp
from gateway.domain.secrets import Secret
from gateway.representations.realms.realm import parse_realm, render_realm
from gateway.storage.documents import DocumentCodec, UnreadableDocument
from gateway.storage.sql import realms as stored_realms
from gateway.storage.sql.migrations.versions import revision_0023
from tests.support.realms import realms, thorough
from tests.support.stored_documents import restored_realm, stored

CODEC = stored_realms._CODEC
COLUMNS: dict[str, Any] = {"id": "demo-id", "name": "demo", "enabled": True}
DEMO = Realm(**COLUMNS)


def decoded(document: Any) -> Realm:
    return CODEC.decode(stored(document), **COLUMNS)


def without_secrets(realm: Realm) -> Realm:
    smtp = realm.smtp.with_secrets(None, None)
    return replace(realm, smtp=smtp, webhook_secret=None)


@given(realms())
@thorough
def test_a_stored_realm_comes_back_as_it_was(realm: Realm) -> None:
    assert restored_realm(realm) == without_secrets(realm)


@given(realms())
@thorough
def test_a_realm_of_revision_0022_keeps_every_byte(realm: Realm) -> None:
    before = stored(render_realm(without_secrets(realm)))
    document = {"version": 1, **revision_0023._realm(before, realm.name)}
    columns = {"id": realm.id, "name": realm.name, "enabled": realm.enabled}
    migrated = CODEC.decode(stored(document), **columns)
    assert migrated == parse_realm(before, report_ineffective=True)
    assert json.dumps(render_realm(migrated)) == json.dumps(before)


def test_every_setting_of_a_realm_has_its_place_in_the_migration() -> None:
    """Also at another value than the default one, of which the strategy draws few."""
    kinds = revision_0023._TABLE["realm"].values()
    places = {place for kind in kinds for place in kind.values()}
    document = CODEC.encode(DEMO)
    passkeys = {"web_authn_passwordless.mediation", "web_authn_passwordless.passkeys_enabled"}
    nullable = {"display_name", "display_name_html", "login_theme", "account_theme", "email_theme"}
    written = {
        f"{name}.{field}" if isinstance(value, dict) and name not in whole() else name
        for name, value in document.items()
        for field in (value if isinstance(value, dict) else ("",))
    }
    own = {"version", "unmodelled", "brute_force.failures_per_address"}
    assert written - own | passkeys | nullable | {"localization.default_locale"} == places


def whole() -> set[str]:
    return {"attributes", "password_policy", "security_headers", "smtp", "unmodelled"}


def test_a_realm_keeps_the_members_of_a_later_version() -> None:
    """A gateway of this version changes a realm that a gateway of the next one has stored."""
    later = {"quantum": {"b": 1, "a": [None]}, "brute_force": {"delay": 3}}
    document = CODEC.encode(DEMO)
    document["brute_force"] |= later["brute_force"]
    document["quantum"] = later["quantum"]
    read = decoded(document)
    assert read == replace(DEMO, later=later)
    assert "quantum" not in render_realm(read)
    changed = parse_realm({"displayName": "x", "failureFactor": 7}, base=read)
    written = CODEC.encode(changed)
    assert written["quantum"] == later["quantum"]
    assert written["brute_force"] == document["brute_force"] | {"failure_factor": 7}


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("version", 2, "version: 2 instead of 1"),
        ("version", None, "version: None instead of 1"),
        ("ssl_required", "some", "ssl_required: 'some' instead of one of none, external, all"),
        ("not_before", True, "not_before: true or false instead of a whole number"),
        ("not_before", None, "not_before: null instead of a whole number"),
        ("login", [], "login: a list instead of an object"),
        ("login", {"remember_me": "true"}, "login.remember_me: text instead of true or false"),
        ("attributes", {"a": 1}, "attributes.a: a whole number instead of text"),
        (
            "web_authn",
            {"extra_origins": ["a", 3]},
            "web_authn.extra_origins[1]: a whole number instead of text",
        ),
        (
            "security_headers",
            {"values": [["a"]]},
            "security_headers.values[0]: 1 items instead of 2",
        ),
        (
            "password_policy",
            {"rules": [{"name": "a", "b": 1}]},
            "password_policy.rules[0].b: an unknown member",
        ),
    ],
)
def test_an_unreadable_member_is_named(member: str, value: object, reason: str) -> None:
    with pytest.raises(UnreadableDocument) as refusal:
        decoded(CODEC.encode(DEMO) | {member: value})
    assert str(refusal.value) == reason


def test_a_secret_is_never_written_into_a_document() -> None:
    with pytest.raises(TypeError, match="sealed"):
        CODEC.encode(replace(DEMO, smtp=Smtp(password=Secret("canary"))))


def test_milliseconds_are_kept() -> None:
    exact = timedelta(milliseconds=1_234)
    guard = replace(DEMO.brute_force, quick_login_check=exact)
    document = CODEC.encode(replace(DEMO, brute_force=guard))
    assert document["brute_force"]["quick_login_check"] == 1.234
    assert decoded(document).brute_force.quick_login_check == exact


def test_every_setting_is_written_at_its_default_too() -> None:
    """A later version may change a default, which must change no realm that there is."""
    bare = DocumentCodec(Realm, COLUMNS).encode(DEMO)
    assert bare["token_lifespans"]["access_token"] == 300
    assert bare["security_headers"]["values"]
    assert bare["login"]["login_with_email_allowed"] is True
