"""Making a stored credential of a password, by the realm's own choice of algorithm."""

from uuid import uuid4

from gateway.domain.clock import Clock
from gateway.domain.ports.passwords import PasswordMaker
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential
from gateway.representations.credentials import PASSWORD


async def hashed_credential(
    hasher: PasswordMaker, realm: Realm, user_id: str, password: Secret, clock: Clock
) -> Credential:
    """Return a new password credential for the user."""
    policy = realm.password_policy
    credential_data, secret_data = await hasher.hash(
        password, algorithm=policy.hash_algorithm, iterations=policy.hash_iterations
    )
    return Credential(
        id=str(uuid4()),
        user_id=user_id,
        type=PASSWORD,
        created_at=clock.now(),
        credential_data=credential_data,
        secret_data=secret_data,
    )
