"""A realm's secret keys, read from the gateway's own store, to check HMAC signatures by."""

import base64
import sqlite3
from contextlib import closing

from gateway.crypto.secrets_at_rest import AesGcmSecrets, parse_keys
from tests.support.gateway_process import Gateway


def secret_keys(gateway: Gateway, realm: str) -> dict[str, bytes]:
    """Return the material of the realm's HMAC keys by kid."""
    text = (gateway.state_dir / "secrets" / "encryption.key").read_text()
    secrets = AesGcmSecrets(parse_keys(text, "the key file"))
    with closing(sqlite3.connect(gateway.state_dir / "realmgate.db")) as connection:
        rows = connection.execute(
            "SELECT realm_id, kid, private_key FROM realm_keys"
            " JOIN realms ON realms.id = realm_id"
            " WHERE realms.name = ? AND algorithm LIKE 'HS%'",
            (realm,),
        ).fetchall()
    return {
        kid: base64.b64decode(secrets.unseal(sealed, f"signing-key:{realm_id}:{kid}"))
        for realm_id, kid, sealed in rows
    }
