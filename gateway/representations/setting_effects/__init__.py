"""What each setting of Keycloak does here: it works, it is stored only, or it is refused."""

from typing import Final

from gateway.representations.setting_effects.authenticators import AUTHENTICATOR_ROWS
from gateway.representations.setting_effects.client_rows import (
    CLIENT_ATTRIBUTE_ROWS,
    CLIENT_FIELD_ROWS,
    MAPPER_CONFIG_ROWS,
    SCOPE_ATTRIBUTE_ROWS,
)
from gateway.representations.setting_effects.enforcement import (
    MEMBER_SPELLINGS,
    IneffectiveSetting,
    ineffective_of_client,
    ineffective_of_realm,
    ineffective_of_scope,
)
from gateway.representations.setting_effects.policies import EXECUTOR_ROWS, GLOBAL_PROFILES
from gateway.representations.setting_effects.realm_attributes import (
    with_listed,
    with_mirrored,
    with_written,
)
from gateway.representations.setting_effects.realm_rows import (
    REALM_ATTRIBUTE_ROWS,
    REALM_FIELD_ROWS,
)
from gateway.representations.setting_effects.rows import Effect, Place, SettingRow

SETTING_ROWS: Final[tuple[SettingRow, ...]] = (
    *CLIENT_FIELD_ROWS,
    *CLIENT_ATTRIBUTE_ROWS,
    *SCOPE_ATTRIBUTE_ROWS,
    *MAPPER_CONFIG_ROWS,
    *REALM_FIELD_ROWS,
    *REALM_ATTRIBUTE_ROWS,
    *EXECUTOR_ROWS,
    *AUTHENTICATOR_ROWS,
)
"""Every setting, by place."""
