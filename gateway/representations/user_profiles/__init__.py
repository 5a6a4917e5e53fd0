"""JSON of user profiles."""

from gateway.representations.user_profiles.component import (
    PROFILE_CONFIG,
    PROFILE_PROVIDER,
    PROFILE_TYPE,
    StoredProfile,
    carries_other_components,
    read_profile_component,
    read_profile_text,
    restored_profile,
    write_profile_component,
)
from gateway.representations.user_profiles.metadata import write_metadata
from gateway.representations.user_profiles.profile import (
    ProfileViolated,
    read_user_profile,
    require_usable_profile,
    rules_of,
    standard_user_profile,
)
