"""Compact JWE: made for clients, and opened where it was encrypted for a realm. Spec: RFC 7516."""

from gateway.crypto.jwe.compact import MAX_JWE_LENGTH, CompactJwe, parse
from gateway.crypto.jwe.decryption import CANNOT_DECRYPT, decrypt
from gateway.crypto.jwe.encryption import encrypt
from gateway.crypto.jwe.key_management import EncryptionKey, fits
