"""Password hashing: the schemes, stored hashes, and the hasher over them."""

from gateway.crypto.passwords.hasher import PooledPasswordHasher
