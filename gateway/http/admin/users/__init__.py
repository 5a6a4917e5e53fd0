"""Operations on users. Keycloak: 7.2."""

from gateway.http.admin.users.attack_detection import (
    AttackDetectionHandlers,
    attack_detection_operations,
)
from gateway.http.admin.users.resources import user_operations
