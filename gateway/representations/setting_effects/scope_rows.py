"""Attributes of client scopes and the common settings of protocol mappers. Keycloak: 26.7."""

from typing import Final

from gateway.representations.setting_effects.rows import (
    Place,
    SettingRow,
    refused_flag,
    stored,
    works,
)

_ATTRIBUTE: Final = Place.SCOPE_ATTRIBUTE

SCOPE_ATTRIBUTE_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(
        _ATTRIBUTE,
        {
            "tests/http/test_admin_client_scopes.py": "include.in.token.scope"
            " include.in.openid.provider.metadata"
        },
    ),
    refused_flag(
        *(_ATTRIBUTE, "always.display.consent"),
        "consent is not asked for yet, so the scope would be granted without it",
    ),
    *stored(
        _ATTRIBUTE,
        {
            "Display only": "display.on.consent.screen consent.screen.text gui.order",
            "A scope with a parameter is unknown and refused": "is.parameterized.scope"
            " is.dynamic.scope parameterized.scope.* dynamic.scope.regexp",
            "There is no endpoint of verifiable credentials": "vc.*",
        },
    ),
)
MAPPER_CONFIG_ROWS: Final[tuple[SettingRow, ...]] = works(
    Place.MAPPER_CONFIG,
    {
        "tests/unit/protocol/test_claim_mappers.py": "access.token.claim id.token.claim"
        " userinfo.token.claim introspection.token.claim lightweight.claim"
        " access.tokenResponse.claim claim.name claim.value jsonType.label multivalued"
    },
)
