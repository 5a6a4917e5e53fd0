"""JOSE headers of the tokens that one key signs, encoded once.

Keycloak: {"alg","typ","kid"}, in this order. Spec: RFC 7515 §4.1
"""

from collections.abc import Mapping

import orjson

from gateway.crypto import base64url
from gateway.domain.keys import HeaderType, RealmKey


def encoded_headers(record: RealmKey) -> Mapping[HeaderType, str]:
    """Return the base64url text of each header that `record` may sign with."""
    return {
        header_type: base64url.encode(
            orjson.dumps({"alg": record.algorithm, "typ": header_type, "kid": record.kid})
        )
        for header_type in HeaderType
    }
