"""The user profile of a realm: which attributes users have, and what becomes of those sent.

Keycloak: the declarative user profile
"""

from gateway.domain.user_profile.findings import Violation
from gateway.domain.user_profile.profile import (
    ProfileAttribute,
    Required,
    UnmanagedPolicy,
    UserProfile,
    Viewer,
)
