"""Authenticators of users: which of them act in a sign-in of this version. Keycloak: 15."""

from typing import Final

from gateway.domain.flows import (
    CERTIFICATE_FORM,
    KIND_OF,
    LEVEL,
    RESET_CHOOSE_USER,
    RESET_EMAIL,
    RESET_OTP,
    RESET_PASSWORD,
)
from gateway.domain.flows import Place as FlowPlace
from gateway.representations.flows import Role, of_role
from gateway.representations.setting_effects.rows import Place, SettingRow, stored, works

_WAITING: Final = (
    "Flows may contain it: a sign-in passes it over, and fails where it is required. For the"
    " password grant, a flow in which it is enabled is refused"
)
_CLOSES: Final = (
    "Flows may contain it: registration is closed while it is enabled in the bound flow"
)
_FORM_ROLES: Final = (Role.FORM, Role.FORM_ACTION)
_FORM_PARTS: Final = tuple(each for role in _FORM_ROLES for each in of_role(role))
_RECOVERY: Final = (RESET_CHOOSE_USER, RESET_EMAIL, RESET_PASSWORD, RESET_OTP)
_ACTING: Final = tuple(each.id for each in of_role(Role.USER) if each.acts)
_PAGES: Final = frozenset(
    name for name in _ACTING if KIND_OF[name].direct_grant is FlowPlace.NOWHERE
)
"""Those that do not act in the password grant."""
AUTHENTICATOR_ROWS: Final[tuple[SettingRow, ...]] = (
    *works(
        Place.AUTHENTICATOR,
        {
            "tests/http/test_direct_grant_flows.py": " ".join(
                name for name in _ACTING if name not in _PAGES
            ),
            "tests/contract/test_resumable_sign_in.py": " ".join(
                name for name in _ACTING if name in _PAGES - {LEVEL, CERTIFICATE_FORM, *_RECOVERY}
            ),
            "tests/http/test_registration.py": " ".join(
                each.id for each in _FORM_PARTS if each.acts
            ),
            "tests/http/test_reset_credentials.py": " ".join(_RECOVERY),
            "tests/contract/test_levels_of_authentication.py": LEVEL,
            "tests/http/test_certificate_sign_in_pages.py": CERTIFICATE_FORM,
        },
        dict.fromkeys(_PAGES, "In a browser; not in the password grant"),
    ),
    *stored(
        Place.AUTHENTICATOR,
        {
            _WAITING: " ".join(each.id for each in of_role(Role.USER) if not each.acts),
            _CLOSES: " ".join(each.id for each in _FORM_PARTS if not each.acts),
        },
    ),
)
