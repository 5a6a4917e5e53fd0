"""Nonces in DPoP proofs. Own attribute of a realm: Keycloak has none. Spec: RFC 9449 §8, §9."""

from typing import Final

from gateway.domain.realm.realm import Realm

DPOP_NONCE: Final = "realmgate.dpop.nonce"
_CHOICES: Final = {"": False, "false": False, "true": True}


def is_nonce_choice(text: str) -> bool:
    """Tell whether the text is `true`, `false` or empty."""
    return text in _CHOICES


def requires_proof_nonce(realm: Realm) -> bool:
    """Tell whether every DPoP proof has to contain a nonce of the realm."""
    return _CHOICES.get(realm.attributes.get(DPOP_NONCE, ""), False)
