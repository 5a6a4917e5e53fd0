"""Required actions: Keycloak's JSON to a value and back, and those of a new realm.

Keycloak: RequiredActionProviderRepresentation, a strict decoder; defaults of 26.7
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.domain.flows import (
    CONFIGURE_RECOVERY_CODES,
    UPDATE_EMAIL,
    VERIFY_EMAIL,
    RequiredAction,
)
from gateway.representations.field_table import parse_strictly
from gateway.representations.names import Identity
from gateway.representations.provider_properties import Kind, Property
from gateway.representations.shapes import Count, Flag, Shape, Text, TextMap

MAXIMUM_AGE: Final = Property(
    "max_auth_age",
    "Maximum Age of Authentication",
    "For how many seconds after a sign-in a user may do this without another one",
    Kind.NUMBER,
    "300",
)
"""The one setting that every required action has."""
WARNING_THRESHOLD: Final = Property(
    "warning_threshold",
    "Warning Threshold",
    "A user who has fewer recovery codes left has to generate new ones",
    Kind.NUMBER,
    "4",
)
"""The setting of CONFIGURE_RECOVERY_AUTHN_CODES."""
RESEND_PAUSE: Final = Property(
    "emailResendCooldownSeconds",
    "Cooldown Between Email Resend (seconds)",
    "For how many seconds after a mail a user cannot ask for another one",
    Kind.NUMBER,
    "30",
)
"""The setting of the actions that send mails."""
VERIFY_NEW_EMAIL: Final = Property(
    "verifyEmail",
    "Force Email Verification",
    "A new address is confirmed by a mail, even if the realm does not verify addresses",
    Kind.FLAG,
    "false",
    as_boolean=True,
)
"""The setting of UPDATE_EMAIL."""

DEFAULT_ACTIONS: Final = tuple(
    RequiredAction(alias, name, alias, enabled=enabled, priority=priority)
    for alias, name, enabled, priority in (
        ("TERMS_AND_CONDITIONS", "Terms and Conditions", False, 20),
        ("UPDATE_PROFILE", "Update Profile", True, 40),
        ("VERIFY_EMAIL", "Verify Email", True, 50),
        ("CONFIGURE_TOTP", "Configure OTP", True, 54),
        ("UPDATE_PASSWORD", "Update Password", True, 57),
        ("delete_account", "Delete Account", False, 60),
        ("UPDATE_EMAIL", "Update Email", False, 70),
        ("webauthn-register", "Webauthn Register", True, 80),
        ("webauthn-register-passwordless", "Webauthn Register Passwordless", True, 90),
        ("VERIFY_PROFILE", "Verify Profile", True, 100),
        ("delete_credential", "Delete Credential", True, 110),
        ("idp_link", "Linking Identity Provider", True, 120),
        (CONFIGURE_RECOVERY_CODES, "Recovery Authentication Codes", True, 130),
        ("update_user_locale", "Update User Locale", True, 1000),
    )
)
ACTION_NAMES: Final[Mapping[str, str]] = {
    each.provider: each.name or each.alias for each in DEFAULT_ACTIONS
}
"""What there is to be registered, and its name."""
_OWN_SETTINGS: Final[Mapping[str, tuple[Property, ...]]] = {
    CONFIGURE_RECOVERY_CODES: (WARNING_THRESHOLD,),
    VERIFY_EMAIL: (RESEND_PAUSE,),
    UPDATE_EMAIL: (VERIFY_NEW_EMAIL, RESEND_PAUSE),
}
_NOT_CONFIGURABLE: Final = frozenset({"delete_account"})

ACTION_FIELDS: Final[Mapping[str, Shape]] = {
    "alias": Identity(),
    "name": Text(most=255),
    "providerId": Text(most=255),
    "enabled": Flag(),
    "defaultAction": Flag(),
    "priority": Count(),
    "config": TextMap(longest=1000),
}


def is_configurable(provider: str) -> bool:
    """Tell whether anything is to be set of the action."""
    return provider in ACTION_NAMES and provider not in _NOT_CONFIGURABLE


def parse_action(document: Mapping[str, Any], before: RequiredAction) -> RequiredAction:
    """Return the action as it is to be: what is absent is off, zero or none.

    The alias stays where none is sent, for it is the address of the action. Raises InvalidInput.
    """
    values = parse_strictly(document, ACTION_FIELDS, "RequiredActionProviderRepresentation")
    return replace(
        before,
        alias=values.get("alias", before.alias),
        name=values.get("name"),
        enabled=values.get("enabled", False),
        is_default=values.get("defaultAction", False),
        priority=values.get("priority", 0),
        config=known_config(values.get("config", {})),
    )


def known_config(config: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration; raises UnusableSetting for a setting that is no number.

    Keycloak stores other settings as well, although no action describes them.
    """
    checked = {
        each.name: str(each.read((config[each.name],)))
        for each in (MAXIMUM_AGE, WARNING_THRESHOLD, RESEND_PAUSE, VERIFY_NEW_EMAIL)
        if config.get(each.name)
    }
    return {**config, **checked}


def settings_of(alias: str) -> tuple[Property, ...]:
    """Return the settings of an action."""
    return (*_OWN_SETTINGS.get(alias, ()), MAXIMUM_AGE)


def render_action(action: RequiredAction) -> dict[str, Any]:
    """Return the JSON object."""
    named = {} if action.name is None else {"name": action.name}
    return {
        "alias": action.alias,
        **named,
        "providerId": action.provider,
        "enabled": action.enabled,
        "defaultAction": action.is_default,
        "priority": action.priority,
        "config": dict(action.config),
    }
