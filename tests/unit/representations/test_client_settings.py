"""Attributes of clients as rules read them: parsed once, also where stored ones are malformed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.clients import Client, client_settings, with_attributes
from gateway.domain.keys import SecretAlgorithm, SignatureAlgorithm
from gateway.representations.clients import (
    render_client,
    with_secret_expiration,
)
from tests.support.realms import thorough
from tests.support.stored_documents import restored_client

PLAIN = Client("id", "realm", "app")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = ("client.secret.expiration.time", "client.secret.rotated.expiration.time")
_SECOND = timedelta(seconds=1)
ATTRIBUTES = {
    "tokens.access_token_lifespan": "access.token.lifespan",
    "tokens.certificate_bound": "tls.client.certificate.bound.access.tokens",
    "tokens.lightweight": "client.use.lightweight.access.token.enabled",
    "tokens.refresh_tokens": "use.refresh.tokens",
    "tokens.refresh_tokens_of_service_account": "client_credentials.use_refresh_token",
    "tokens.lower_case_type": "token.response.type.bearer.lower-case",
    "session_limits.idle": "client.session.idle.timeout",
    "session_limits.max_lifespan": "client.session.max.lifespan",
    "session_limits.offline_idle": "client.offline.session.idle.timeout",
    "session_limits.offline_max_lifespan": "client.offline.session.max.lifespan",
    "signing.access_token": "access.token.signed.response.alg",
    "signing.id_token": "id.token.signed.response.alg",
    "signing.userinfo": "user.info.response.signature.alg",
    "signing.authorization_response": "authorization.signed.response.alg",
    "redirects.after_logout": "post.logout.redirect.uris",
    "logout.back_channel_path": "backchannel.logout.url",
    "logout.back_channel_session_required": "backchannel.logout.session.required",
    "logout.revoke_offline_tokens": "backchannel.logout.revoke.offline.tokens",
    "logout.front_channel_path": "frontchannel.logout.url",
    "logout.front_channel_session_required": "frontchannel.logout.session.required",
    "logout.stops_at_page": "logout.confirmation.enabled",
    "redirects.may_hold_response": "allow.oidc.params.in.redirect.uris",
    "authorization.code_challenge_method": "pkce.code.challenge.method",
    "authorization.pushed_requests_only": "require.pushed.authorization.requests",
    "authorization.exclude_issuer": "exclude.issuer.from.auth.response",
    "authorization.exclude_session_state": "exclude.session.state.from.auth.response",
    "levels.names": "acr.loa.map",
    "levels.default": "default.acr.values",
    "levels.minimum": "minimum.acr.value",
    "request_objects.algorithm": "request.object.signature.alg",
    "request_objects.required": "request.object.required",
    "request_objects.uris": "request.uris",
    "verification_keys.key_set": "jwks.string",
    "verification_keys.uses_key_set": "use.jwks.string",
    "verification_keys.key_set_url": "jwks.url",
    "verification_keys.uses_key_set_url": "use.jwks.url",
    "verification_keys.certificate": "jwt.credential.certificate",
    "verification_keys.public_key": "jwt.credential.public.key",
    "signing.rfc9068_header": "access.token.header.type.rfc9068",
    "signing.introspection_jwt": "client.introspection.response.allow.jwt.claim.enabled",
    "certificate_authentication.subject": "x509.subjectdn",
    "certificate_authentication.is_pattern": "x509.allow.regex.pattern.comparison",
    "certificate_authentication.authority": "x509.casubjectdn",
    "secret_settings.allowed_method": "client.secret.authentication.allowed.method",
    "secret_settings.expires_at": "client.secret.expiration.time",
    "secret_settings.rotated_expires_at": "client.secret.rotated.expiration.time",
}


def client(**attributes: str) -> Client:
    return with_attributes(PLAIN, attributes)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("tokens.certificate_bound", {"true": True, "TRUE": True, "yes": False, "": False}),
        ("tokens.lightweight", {"True": True, "1": False}),
        ("tokens.refresh_tokens", {"false": False, "FALSE": False, "true": True, "": True}),
        ("tokens.refresh_tokens_of_service_account", {"true": True, "no": False}),
        ("tokens.lower_case_type", {"true": True, "no": False}),
        (
            "tokens.access_token_lifespan",
            {
                "17": 17 * _SECOND,
                "-1": -_SECOND,
                "": None,
                "soon": None,
                "1.5": None,
                "--1": None,
                "9" * 30: timedelta.max,
                "9" * 5000: None,
            },
        ),
        (
            "session_limits.idle",
            {"20": 20 * _SECOND, "-1": 0 * _SECOND, "": 0 * _SECOND, "soon": 0 * _SECOND},
        ),
        ("session_limits.max_lifespan", {"20": 20 * _SECOND, "9" * 30: timedelta.max}),
        ("session_limits.offline_idle", {"20": 20 * _SECOND, "9" * 5000: 0 * _SECOND}),
        ("session_limits.offline_max_lifespan", {"20": 20 * _SECOND}),
        (
            "signing.access_token",
            {"ES256": SignatureAlgorithm.ES256, "none": "none", "": None},
        ),
        ("signing.id_token", {"HS256": SecretAlgorithm.HS256}),
        ("signing.userinfo", {"RS256": SignatureAlgorithm.RS256, "": None}),
        ("signing.authorization_response", {"ES256": SignatureAlgorithm.ES256, "": None}),
        ("redirects.after_logout", {"a##b": ("a", "b"), "+": ("+",), "": ()}),
        ("redirects.may_hold_response", {"true": True, "on": False}),
        ("authorization.code_challenge_method", {"S256": "S256", "": ""}),
        ("authorization.pushed_requests_only", {"true": True, "": False}),
        ("authorization.exclude_issuer", {"true": True, "no": False}),
        ("authorization.exclude_session_state", {"TRUE": True, "no": False}),
        (
            "levels.names",
            {'{"gold":2,"x":"1","y":[],"z":-1}': {"gold": 2, "x": 1}, "[]": {}, "{": {}, "": {}},
        ),
        ("levels.default", {"gold##silver": ("gold", "silver")}),
        ("levels.minimum", {" gold ": "gold"}),
        ("request_objects.algorithm", {"any": "any", "ES256": "ES256"}),
        ("request_objects.required", {"request only": "request only"}),
        ("request_objects.uris", {"https://a/##https://b/": ("https://a/", "https://b/")}),
        ("verification_keys.key_set", {"{}": "{}"}),
        ("verification_keys.uses_key_set", {"true": True, "": False}),
        ("verification_keys.key_set_url", {"https://a/": "https://a/"}),
        ("verification_keys.uses_key_set_url", {"true": True, "": False}),
        ("verification_keys.certificate", {"MII": "MII"}),
        ("verification_keys.public_key", {"MII": "MII"}),
        ("signing.rfc9068_header", {"true": True, "on": False}),
        ("signing.introspection_jwt", {"true": True, "on": False}),
        ("certificate_authentication.subject", {" CN=a ": "CN=a", " ": ""}),
        ("certificate_authentication.is_pattern", {"true": True, "false": False, "": False}),
        ("certificate_authentication.authority", {" CN=CA ": "CN=CA", " ": ""}),
        ("secret_settings.allowed_method", {" client_secret_post ": "client_secret_post"}),
        ("secret_settings.expires_at", {"5": datetime.fromtimestamp(5, UTC), "0": None, "": None}),
        ("secret_settings.rotated_expires_at", {"5": datetime.fromtimestamp(5, UTC)}),
    ],
)
def test_an_attribute_is_parsed(name: str, texts: dict[str, Any]) -> None:
    attribute = ATTRIBUTES[name]
    group, _, field = name.partition(".")
    for text, expected in texts.items():
        found = getattr(client(**{attribute: text}), group)
        assert getattr(found, field) == expected, text
        assert replace(found, **{field: expected}) == found
        for other, value in client_settings({attribute: text}, {}).items():
            assert other == group or value is getattr(PLAIN, other)


def test_clients_without_such_attributes_share_the_defaults() -> None:
    other = client(realm_client="false", **{"x509.subjectdns": "CN=a"})
    for group in {name.partition(".")[0] for name in ATTRIBUTES}:
        assert getattr(other, group) is getattr(PLAIN, group)


@pytest.mark.parametrize(
    ("text", "expired", "accepted"),
    [
        ("0", False, False),
        ("", False, False),
        ("soon", True, False),
        (" ", True, False),
        ("1e9", True, False),
        ("-5", False, False),
        (str(int(NOW.timestamp())), True, False),
        (str(int(NOW.timestamp()) + 1), False, True),
        ("9" * 30, False, True),
        ("-" + "9" * 30, False, False),
    ],
)
def test_a_time_that_cannot_be_read_has_passed(text: str, expired: bool, accepted: bool) -> None:  # noqa: FBT001 - parametrized
    settings = client(**dict.fromkeys(TIMES, text)).secret_settings
    assert settings.has_expired(NOW) is expired
    assert settings.accepts_rotated(NOW) is accepted


def test_settings_follow_the_attributes_that_a_rule_writes() -> None:
    limited = with_secret_expiration(client(**{TIMES[0]: "soon"}), NOW)
    assert limited.attributes[TIMES[0]] == str(int(NOW.timestamp()))
    assert limited.secret_settings.expires_at == NOW
    assert with_secret_expiration(limited, None) == PLAIN


texts = st.sampled_from(["true", "false", "TRUE", "", "17", "-1", " 5", "ES256", "none", "٣"])


@given(st.data())
@thorough
def test_attributes_are_kept_verbatim_and_parsed_from_storage(data: st.DataObject) -> None:
    names = st.sampled_from([*ATTRIBUTES.values(), "realm_client"])
    made = client(**data.draw(st.dictionaries(names, texts | st.text(max_size=5))))
    stored = render_client(made)
    assert stored["attributes"] == made.attributes
    assert restored_client(made) == replace(made, document={})
