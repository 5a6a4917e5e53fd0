"""The user profile as a component of a realm file. Keycloak: realm export, components."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gateway.domain.errors import InvalidInput
from gateway.representations.realm_files import carries_unread_components, render_components
from gateway.representations.stored_user_profile import (
    PROFILE_TYPE,
    StoredProfile,
    parse_profile_component,
    profile_component,
    restored_profile,
)
from gateway.representations.user_profile import parse_user_profile, standard_user_profile

IN = f'demo.components["{PROFILE_TYPE}"][0].config.kc.user.profile.config'
AT = f'demo.components["{PROFILE_TYPE}"]'


def document(*configs: object) -> dict[str, Any]:
    listed = [{"providerId": "declarative-user-profile", "config": config} for config in configs]
    return {"realm": "demo", "components": {PROFILE_TYPE: listed}}


def carrying(profile: object) -> dict[str, Any]:
    return document({"kc.user.profile.config": [json.dumps(profile)]})


def document_in(file: dict[str, Any]) -> Mapping[str, Any]:
    found = parse_profile_component(file, "")
    assert found is not None
    return found.document


def test_a_profile_is_written_as_it_is_read() -> None:
    profile = standard_user_profile()
    for text in (None, json.dumps(profile, indent=2)):
        kept = StoredProfile("its-id", profile, text)
        written = {"components": render_components([profile_component("demo", kept)])}
        assert parse_profile_component(written, "") == StoredProfile("", profile, kept.config)


def test_what_is_read_is_what_would_be_kept() -> None:
    bare = {"attributes": [{"name": "username"}, {"name": "email"}]}
    assert document_in(carrying(bare)) == parse_user_profile(bare, ())


def test_a_stored_profile_is_restored_with_the_sent_text() -> None:
    profile = standard_user_profile()
    for text, shown in ((" { } ", " { } "), (None, json.dumps(profile, separators=(",", ":")))):
        kept = StoredProfile("its-id", profile, text, "its name")
        assert restored_profile(json.loads(json.dumps(kept.stored()))) == kept
        assert kept.config == shown


def test_client_scopes_are_looked_at_later() -> None:
    profile = standard_user_profile()
    profile["attributes"][1]["selector"] = {"scopes": ["of-the-same-file"]}
    assert document_in(carrying(profile)) == profile


@pytest.mark.parametrize(
    "nothing",
    [
        {},
        {"components": None},
        {"components": {}},
        {"components": {"org.keycloak.keys.KeyProvider": [{"providerId": "rsa"}]}},
        {"components": {PROFILE_TYPE: []}},
        {"components": {PROFILE_TYPE: [{"providerId": "declarative-user-profile"}]}},
        document({}),
        document({"other": ["x"]}),
    ],
)
def test_a_file_without_a_profile_has_none(nothing: dict[str, Any]) -> None:
    assert parse_profile_component(nothing, "") is None


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"components": []}, "demo.components"),
        ({"components": {PROFILE_TYPE: {}}}, AT),
        ({"components": {PROFILE_TYPE: ["x"]}}, AT),
        (document({}, {}), AT),
        (document([]), AT),
        (document({"kc.user.profile.config": []}), AT),
        (document({"kc.user.profile.config": [5]}), AT),
        (document({"kc.user.profile.config": ["{}", "{}"]}), AT),
        (document({"kc.user.profile.config": ["{"]}), f"{IN}, line 1, column 2"),
        (carrying([]), IN),
        (carrying({"attributes": []}), f"{AT}[0].config.profile"),
        (carrying({"zz": 1}), f"{AT}[0].config.zz"),
    ],
)
def test_a_profile_that_cannot_be_read_is_told_with_its_place(
    wrong: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_profile_component(wrong, "demo")
    assert refused.value.errors[0].path == path


@pytest.mark.parametrize(
    ("components", "unread"),
    [
        ({}, False),
        ({"org.keycloak.keys.KeyProvider": []}, False),
        ({"org.keycloak.keys.KeyProvider": [{"providerId": "aes-generated"}]}, False),
        ({"org.keycloak.keys.KeyProvider": [{"providerId": "rsa"}]}, True),
        ({"org.keycloak.keys.KeyProvider": [{"providerId": "java-keystore"}]}, True),
        ({"org.keycloak.storage.UserStorageProvider": [{"providerId": "ldap"}]}, True),
        (
            {
                "org.keycloak.keys.KeyProvider": [
                    {"providerId": "hmac-generated", "config": {"secret": ["of another server"]}}
                ]
            },
            True,
        ),
    ],
)
def test_components_and_material_an_import_ignores_are_reported(
    components: dict[str, Any], *, unread: bool
) -> None:
    profile = carrying(standard_user_profile())["components"]
    assert carries_unread_components({"components": {**profile, **components}}) is unread
