"""Keys of realms: generation, import, rotation, and what administrators see of them."""

from gateway.admin.keys.components import KeyComponents
from gateway.admin.keys.maker import KeyMaker
from gateway.admin.keys.metadata import KeyMetadata
from gateway.admin.keys.rotation import KeyChange, KeyState, RealmKeys
from gateway.admin.keys.signing import (
    ENCRYPTION_OF_NEW_REALMS,
    ensure_keys,
    ensure_keys_of_client,
    signing_algorithms,
)
from gateway.admin.keys.work import run_key_work
