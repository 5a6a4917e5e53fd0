"""Settings and attributes of realms. Keycloak: RealmRepresentation, RealmAttributes (26.7).

A test compares the fields that wait for something with what the rules read.
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.domain.realm import (
    ACCENT_COLOR,
    DARK_LOGO,
    LOGO,
    WEBHOOK_EVENTS,
    WEBHOOK_URL,
    are_event_names,
    is_color,
    is_image,
    is_webhook_url,
)
from gateway.representations.setting_effects.realm_attributes import MIRRORED
from gateway.representations.setting_effects.realm_settings import REALM_ATTRIBUTES, REALM_SETTINGS
from gateway.representations.setting_effects.rows import (
    Effect,
    Place,
    SettingRow,
    is_given,
    is_true,
    refused,
    refused_flag,
    refused_text,
    stored,
)

_FIELD: Final = Place.REALM_FIELD
_ATTRIBUTE: Final = Place.REALM_ATTRIBUTE
_POLICY: Final[Mapping[str, Any]] = {
    "policies": [
        {
            "name": "p",
            "enabled": True,
            "conditions": [{"condition": "identity-provider-alias", "configuration": {}}],
            "profiles": ["fapi-1-baseline"],
        }
    ]
}
_WAITING: Final[Mapping[str, str]] = {
    "the executors of client policies that do not act yet": "clientProfiles clientPolicies",
    "nothing: pages show `displayName`, and markup in it as text": "displayNameHtml",
    "nothing: it is not part of this product": "adminTheme requiredCredentials"
    " dockerAuthenticationFlow firstBrokerLoginFlow userManagedAccessAllowed organizationsEnabled"
    " verifiableCredentialsEnabled adminPermissionsEnabled scimApiEnabled",
}
WAITING: Final = {reason: tuple(names.split()) for reason, names in _WAITING.items()}
"""Fields that are stored and returned, and have no effect yet, by what they wait for."""

_NO_PERMISSIONS: Final = (
    "fine-grained permissions of administrators are not evaluated: roles alone decide"
)
_REFUSED_FIELDS: Final = (
    refused(
        *(_FIELD, "adminPermissionsEnabled", _NO_PERMISSIONS),
        refuses=is_true,
        sample=True,
        allowed="false",
    ),
    refused(
        *(_FIELD, "clientPolicies"),
        "the policy would not be applied: clients and requests would not be checked",
        refuses=bool,
        sample=_POLICY,
        allowed="no enabled policy with an executor or a condition that does not act",
    ),
)
_REFUSED_NAMES: Final = frozenset(row.name for row in _REFUSED_FIELDS)
REALM_FIELD_ROWS: Final = (
    *(
        SettingRow(_FIELD, each.name, Effect.WORKS, "", test=each.test)
        for together in REALM_SETTINGS.values()
        for each in together
    ),
    *_REFUSED_FIELDS,
    *(
        row
        for row in stored(_FIELD, {f"Waits for {why}": names for why, names in _WAITING.items()})
        if row.name not in _REFUSED_NAMES
    ),
)

_MIRRORED: Final = (
    "tests/http/test_setting_effects.py"
    "::test_an_attribute_that_is_also_a_field_of_a_realm_changes_the_field"
)
_EFFECTS_OF_FIELDS: Final = {row.name: row.effect for row in REALM_FIELD_ROWS}
NOT_BY_ATTRIBUTE: Final = "it is read from the field of the realm and not from the attribute"
REALM_ATTRIBUTE_ROWS: Final[tuple[SettingRow, ...]] = (
    *(
        SettingRow(_ATTRIBUTE, each.name, Effect.WORKS, "", test=each.test)
        for each in REALM_ATTRIBUTES
    ),
    *(
        SettingRow(
            place=_ATTRIBUTE,
            name=name,
            effect=_EFFECTS_OF_FIELDS[field],
            note=f"The same as `{field}`",
            test=_MIRRORED,
        )
        for name, field in MIRRORED.items()
        if _EFFECTS_OF_FIELDS[field] is not Effect.REFUSED
    ),
    refused_flag(_ATTRIBUTE, "adminPermissionsEnabled", _NO_PERMISSIONS),
    refused_text(
        *(_ATTRIBUTE, "frontendUrl"),
        "the issuer and every link begin with REALMGATE_PUBLIC_URL, for all realms",
        "https://login.example.com",
    ),
    *(
        refused(
            *(_ATTRIBUTE, name, NOT_BY_ATTRIBUTE),
            refuses=is_given,
            sample="x",
            allowed=f"nothing, or what {field} says",
        )
        for name, field in (
            ("_browser_header.*", "browserSecurityHeaders"),
            ("client-policies.profiles", "clientProfiles"),
            ("client-policies.policies", "clientPolicies"),
            ("webAuthnPolicy*", "the field of that name"),
        )
    ),
    refused(
        *(_ATTRIBUTE, ACCENT_COLOR, "a page could not use it as a color"),
        refuses=lambda value: bool(value) and not is_color(str(value)),
        sample="red",
        allowed="#rrggbb, #rgb or nothing",
    ),
    *(
        refused(
            *(_ATTRIBUTE, name, "a page would not load it"),
            refuses=lambda value: bool(value) and not is_image(str(value)),
            sample="http://example.com/logo.png",
            allowed="an https URL, a path of this origin, data:image/...;base64 or nothing",
        )
        for name in (LOGO, DARK_LOGO)
    ),
    refused(
        *(_ATTRIBUTE, WEBHOOK_URL, "the gateway could not send a request to it"),
        refuses=lambda value: bool(value) and not is_webhook_url(str(value)),
        sample="ftp://example.com",
        allowed="an https URL without user and fragment, or nothing",
    ),
    refused(
        *(_ATTRIBUTE, WEBHOOK_EVENTS, "no event has that name"),
        refuses=lambda value: not are_event_names(str(value)),
        sample="LOGIN,SIGN_IN",
        allowed="names of events with commas between them, or nothing",
    ),
    *stored(
        _ATTRIBUTE,
        {
            "Names levels by addresses; none is read": "acr.uri.map",
            "The grant does not exist: the token endpoint refuses it": (
                "cibaBackchannelTokenDeliveryMode cibaExpiresIn cibaInterval"
                " cibaAuthRequestedUserHint shortVerificationUri"
            ),
            "Display only": "displayName displayNameHtml",
            "There is no such page": "welcomeTheme firstBrokerLoginFlowId",
            "There is no stream of security events": "ssf.*",
            "SAML is not part of this product": "saml.*",
            "There is no endpoint of verifiable credentials": (
                "oid4vci.* vc.* credentialOfferLifespanS preAuthorizedCodeLifespanS"
            ),
            "Types are names only": "client-types",
        },
    ),
)
