"""JSON of user profiles."""

from gateway.representations.user_profiles.component import (
    PROFILE_CONFIG,
    PROFILE_PROVIDER,
    PROFILE_TYPE,
    StoredProfile,
    allowing_unmanaged_attributes,
    parse_profile_component,
    parse_profile_text,
    profile_component,
    profile_in,
    restored_profile,
)
from gateway.representations.user_profiles.metadata import render_metadata
from gateway.representations.user_profiles.profile import (
    ProfileViolated,
    parse_user_profile,
    require_usable_profile,
    rules_of,
    standard_user_profile,
)
