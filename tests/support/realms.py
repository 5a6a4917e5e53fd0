"""Realms of every kind for property tests, and the names of the specification's settings."""

import json
from datetime import timedelta
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.realm import (
    BruteForce,
    BruteForceStrategy,
    EventsConfig,
    Localization,
    LoginSettings,
    OtpAlgorithm,
    OtpPolicy,
    OtpType,
    PasskeyPolicy,
    PasswordPolicy,
    PasswordRule,
    Realm,
    RefreshTokenPolicy,
    SecurityHeaders,
    SessionLimits,
    Smtp,
    SslRequired,
    TokenLifespans,
    WebAuthnPolicy,
)
from gateway.domain.secrets import Secret
from gateway.representations.realms import render_realm

PolicyT = TypeVar("PolicyT", bound=WebAuthnPolicy)
MOST = 2**31 - 1
thorough = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A realm has a hundred settings: drawing one takes time, the more so on a busy machine."""

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = st.text("abcdefghijklmnopqrstuvwxyzäßABC0189-_.~", min_size=1, max_size=20).filter(
    lambda name: name not in {".", ".."}
)
counts = st.integers(0, MOST)
periods = st.integers(0, MOST).map(lambda count: timedelta(seconds=count))
lifespans = st.integers(1, MOST).map(lambda count: timedelta(seconds=count))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
header_values = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=20
) | st.just("max-age=1; include SubDomains")
rules = st.sampled_from(
    [
        PasswordRule("length", "16"),
        PasswordRule("digits"),
        PasswordRule("notUsername"),
        PasswordRule("hashAlgorithm", "pbkdf2-sha-256"),
        PasswordRule("regexPattern", "[a-z]+(x|y)"),
        PasswordRule("passwordHistory", "-1"),
    ]
)


@st.composite
def realms(draw: st.DrawFn) -> Realm:
    """Any realm as the codec would have read it."""
    otp = draw(
        st.builds(
            OtpPolicy,
            type=st.sampled_from(OtpType),
            algorithm=st.sampled_from(OtpAlgorithm),
            initial_counter=counts,
            digits=st.sampled_from([6, 8]),
            look_ahead_window=st.integers(0, 100),
            period=st.integers(1, 86_400).map(lambda count: timedelta(seconds=count)),
            code_reusable=st.booleans(),
        )
    )
    tokens = draw(st.builds(TokenLifespans, **dict.fromkeys(_fields(TokenLifespans), lifespans)))
    mirrored = {
        "oauth2DeviceCodeLifespan": str(tokens.device_code // timedelta(seconds=1)),
        "oauth2DevicePollingInterval": str(tokens.device_polling_interval // timedelta(seconds=1)),
        "realmReusableOtpCode": str(otp.code_reusable).lower(),
    }
    # Names of no setting: Hypothesis also draws the texts of this code, and some are refused.
    attributes = draw(st.dictionaries(texts.map("own.{}".format), texts, max_size=3))
    for name in draw(st.lists(st.sampled_from(sorted(mirrored)), unique=True)):
        attributes[name] = mirrored[name]
    return draw(
        st.builds(
            Realm,
            id=names,
            name=names,
            enabled=st.booleans(),
            display_name=st.none() | texts,
            display_name_html=st.none() | texts,
            not_before=counts,
            default_signature_algorithm=st.sampled_from(SignatureAlgorithm),
            ssl_required=st.sampled_from(SslRequired),
            token_lifespans=st.just(tokens),
            refresh_tokens=st.builds(RefreshTokenPolicy, st.booleans(), counts),
            session_limits=_session_limits(),
            login=st.builds(LoginSettings, *[st.booleans()] * len(_fields(LoginSettings))),
            brute_force=_brute_force(),
            otp_policy=st.just(otp),
            web_authn=_web_authn(WebAuthnPolicy),
            web_authn_passwordless=_web_authn(PasskeyPolicy, passkeys_enabled=st.booleans()),
            password_policy=st.lists(rules, unique_by=lambda rule: rule.name).map(
                lambda given: PasswordPolicy(tuple(given))
            ),
            security_headers=st.dictionaries(names.filter(str.isascii), header_values, max_size=4)
            .filter(lambda headers: all("~" not in name for name in headers))
            .map(lambda headers: SecurityHeaders(tuple(headers.items()))),
            smtp=st.builds(
                Smtp,
                st.fixed_dictionaries({}, optional={"host": names, "port": st.just("587")}),
                st.none() | names.map(Secret),
            ),
            events=st.builds(
                EventsConfig,
                st.booleans(),
                periods,
                st.lists(texts, max_size=3).map(tuple),
                st.lists(texts, max_size=3).map(tuple),
                st.booleans(),
                st.booleans(),
            ),
            localization=st.builds(
                Localization,
                st.booleans(),
                st.lists(texts, max_size=3).map(tuple),
                st.none() | texts,
            ),
            login_theme=st.none() | names,
            account_theme=st.none() | names,
            email_theme=st.none() | names,
            default_role=st.just("") | names.map("everybody-{}".format),
            attributes=st.just(attributes),
            unmodelled=_unmodelled(),
        )
    )


def _fields(of: Any) -> list[str]:
    return list(of.__dataclass_fields__)


def _session_limits() -> st.SearchStrategy[SessionLimits]:
    shapes: dict[str, Any] = dict.fromkeys(_fields(SessionLimits), periods)
    shapes |= dict.fromkeys(["idle", "max_lifespan", "offline_idle"], lifespans)
    return st.builds(SessionLimits, **shapes | {"offline_max_lifespan_enabled": st.booleans()})


def _brute_force() -> st.SearchStrategy[BruteForce]:
    shapes: dict[str, Any] = dict.fromkeys(_fields(BruteForce), periods)
    return st.builds(
        BruteForce,
        **shapes
        | {
            "protected": st.booleans(),
            "permanent_lockout": st.booleans(),
            "max_temporary_lockouts": counts,
            "strategy": st.sampled_from(BruteForceStrategy),
            "failure_factor": st.integers(1, MOST),
            "max_secondary_failures": counts,
            "quick_login_check": counts.map(lambda count: timedelta(milliseconds=count)),
            # An attribute of the realm, which the guard's rules read.
            "failures_per_address": st.just(0),
        },
    )


def _web_authn(of: type[PolicyT], **fields: Any) -> st.SearchStrategy[PolicyT]:
    return st.builds(
        of,
        entity_name=names,
        signature_algorithms=st.lists(names, min_size=1, max_size=3).map(tuple),
        rp_id=st.just("") | names,
        user_verification=names,
        create_timeout=periods,
        avoid_same_authenticator=st.booleans(),
        acceptable_aaguids=st.lists(names, max_size=3).map(tuple),
        extra_origins=st.lists(names, max_size=3).map(tuple),
        **fields,
    )


def _unmodelled() -> st.SearchStrategy[dict[str, Any]]:
    unknown = st.dictionaries(
        texts.map(lambda name: f"x-{name}"), json_values.filter(lambda value: value is not None)
    )
    known = st.fixed_dictionaries(
        {},
        optional={
            "adminTheme": names,
            "organizationsEnabled": st.just(True),
            "requiredCredentials": st.just(["otp"]),
        },
    )
    return st.builds(lambda one, other: one | other, known, unknown)


SPECIFICATION_SETTINGS: dict[str, tuple[str, Any]] = {
    "id": ("id", "acme"),
    "realm": ("realm", "acme"),
    "access_token_lifespan": ("accessTokenLifespan", 61),
    "access_token_lifespan_for_implicit_flow": ("accessTokenLifespanForImplicitFlow", 901),
    "sso_session_idle_timeout": ("ssoSessionIdleTimeout", 902),
    "sso_session_max_lifespan": ("ssoSessionMaxLifespan", 36001),
    "sso_session_idle_timeout_remember_me": ("ssoSessionIdleTimeoutRememberMe", 7),
    "sso_session_max_lifespan_remember_me": ("ssoSessionMaxLifespanRememberMe", 8),
    "offline_session_idle_timeout": ("offlineSessionIdleTimeout", 2592001),
    "offline_session_max_lifespan_enabled": ("offlineSessionMaxLifespanEnabled", True),
    "offline_session_max_lifespan": ("offlineSessionMaxLifespan", 9),
    "ssl_required": ("sslRequired", "all"),
    "otp_policy_type": ("otpPolicyType", "hotp"),
    "otp_policy_algorithm": ("otpPolicyAlgorithm", "HmacSHA256"),
    "otp_policy_digits": ("otpPolicyDigits", 8),
    "otp_policy_look_ahead_window": ("otpPolicyLookAheadWindow", 2),
    "otp_policy_period": ("otpPolicyPeriod", 31),
    "events_enabled": ("eventsEnabled", True),
    "events_expiration": ("eventsExpiration", 31536000),
    "admin_events_enabled": ("adminEventsEnabled", True),
    "admin_events_details_enabled": ("adminEventsDetailsEnabled", True),
    "events_listeners": ("eventsListeners", ["email"]),
    "default_signature_algorithm": ("defaultSignatureAlgorithm", "ES256"),
    "browser_security_headers": ("browserSecurityHeaders", {"xFrameOptions": "SOMEORIGIN"}),
    "password_policy": ("passwordPolicy", "length(16) and notEmail"),
    "brute_force_protected": ("bruteForceProtected", True),
    "max_failure_wait_seconds": ("maxFailureWaitSeconds", 5400),
    "failure_factor": ("failureFactor", 6),
    "wait_increment_seconds": ("waitIncrementSeconds", 1800),
    "max_delta_time_seconds": ("maxDeltaTimeSeconds", 86400),
    "quick_login_check_milli_seconds": ("quickLoginCheckMilliSeconds", 1001),
    "minimum_quick_login_wait_seconds": ("minimumQuickLoginWaitSeconds", 61),
}
"""Every setting of the specification's table 2.1: its JSON name, and a value not the default."""


def dump_realm(realm: Realm, *, masked: bool = True) -> bytes:
    """Return the JSON text of `realm`."""
    return json.dumps(render_realm(realm, masked=masked)).encode()
