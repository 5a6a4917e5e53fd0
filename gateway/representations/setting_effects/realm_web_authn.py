"""Settings of security keys and passkeys, as in `realm_settings.py`."""

from collections.abc import Iterator
from typing import Final

_TESTS: Final = "tests/http/test_passkeys.py"
_SOURCE: Final = "Keycloak: 16.4"
_SHOWN: Final = "test_the_browser_is_told_what_the_policy_says"
_MADE: Final = "test_a_key_that_was_not_made_as_asked_is_refused"
_MODELS: Final = "test_acceptable_models_are_those_that_their_maker_attests"
_STANDARD: Final = "test_the_standard_policies_are_keycloaks"
_ENABLED: Final = "test_pages_for_a_name_or_a_password_take_passkeys_where_they_are_enabled"
_POLICY: Final = (
    ("RpEntityName", "the name that authenticators show", _SHOWN),
    ("SignatureAlgorithms", "algorithms of new keys, the preferred first", _MADE),
    ("RpId", "the domain that keys are for; empty: the host of `REALMGATE_PUBLIC_URL`", _SHOWN),
    (
        "AttestationConveyancePreference",
        "`none`, `indirect` or `direct`: whether an authenticator has to say what it is",
        _MADE,
    ),
    ("AuthenticatorAttachment", "`platform` or `cross-platform`, as the browser reports it", _MADE),
    ("RequireResidentKey", "`Yes` or `No`, where `ResidentKey` says nothing", _STANDARD),
    (
        "ResidentKey",
        "`required`, `preferred` or `discouraged`: whether a key names its user",
        _STANDARD,
    ),
    (
        "UserVerificationRequirement",
        "`required`, `preferred` or `discouraged`: a PIN or a fingerprint",
        _MADE,
    ),
    ("CreateTimeout", "how long browsers wait for the user; 0 is their own limit", _SHOWN),
    ("AvoidSameAuthenticatorRegister", "an authenticator makes one key for a user", _SHOWN),
    (
        "AcceptableAaguids",
        "models of authenticators, which their maker attests; none given means all",
        _MODELS,
    ),
    (
        "ExtraOrigins",
        "where pages may stand beside the public URL, such as native applications",
        "test_keys_of_other_origins_count_where_the_policy_lists_them",
    ),
)
Row = tuple[str, str, str, str]


def _rows(prefix: str) -> Iterator[Row]:
    for name, meaning, test in _POLICY:
        yield f"{prefix}{name}", meaning, _SOURCE, f"{_TESTS}::{test}"


SECURITY_KEYS: Final[tuple[Row, ...]] = tuple(_rows("webAuthnPolicy"))
PASSKEYS: Final[tuple[Row, ...]] = (
    *_rows("webAuthnPolicyPasswordless"),
    (
        "webAuthnPolicyPasswordlessPasskeysEnabled",
        "pages that ask for a name or a password accept passkeys too",
        _SOURCE,
        f"{_TESTS}::{_ENABLED}",
    ),
    (
        "webAuthnPolicyPasswordlessMediation",
        "how these pages offer them: `conditional`, which is the default, is by autofill",
        _SOURCE,
        f"{_TESTS}::{_ENABLED}",
    ),
)
