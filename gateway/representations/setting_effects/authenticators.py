"""Authenticators of users: which of them act in a sign-in of this version. Keycloak: 15."""

from typing import Final

from gateway.representations.flows import Role, of_role
from gateway.representations.setting_effects.rows import Place, SettingRow, stored, works

_WAITING: Final = (
    "Waits for pages. Flows may contain it; for the password grant, a flow in which it is enabled"
    " is refused"
)
AUTHENTICATOR_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(
        Place.AUTHENTICATOR,
        {
            "tests/http/test_direct_grant_flows.py": " ".join(
                each.id for each in of_role(Role.USER) if each.acts
            )
        },
    ),
    *stored(
        Place.AUTHENTICATOR,
        {_WAITING: " ".join(each.id for each in of_role(Role.USER) if not each.acts)},
    ),
)
