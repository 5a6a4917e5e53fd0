"""JSON of keys and key providers."""

from gateway.representations.keys.metadata import ShownKey, write_keys
from gateway.representations.keys.provider import (
    CERTIFICATE,
    KEY_PROVIDER_TYPE,
    KEY_PROVIDERS,
    KeySettings,
    key_component,
    read_key_settings,
    same_material,
    standard_config,
)
