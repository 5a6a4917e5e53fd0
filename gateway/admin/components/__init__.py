"""Components: what every kind has in common. Keycloak: ComponentResource."""

from gateway.admin.components.administration import Components
from gateway.admin.components.kinds import (
    NO_SUCH_COMPONENT,
    NO_SUCH_PROVIDER,
    component_path,
)
