"""RSA keys of 2048 bits from prepared primes, for gateways under test.

To find two primes takes 35 ms of processor time, and each realm that a test makes has up to two
keys. Any two of the 112 primes in rsa_primes.txt are one key. No two keys are equal, so a realm
still rejects tokens of every other realm. When all pairs are used, and for other sizes, the library
finds primes, as it does for `start_command` and in the tests of keys.
"""

import os
from base64 import b64decode
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import rsa

_EXPONENT: Final = 65537
_BITS: Final = 2048
_NUMBER_BYTES: Final = 2
_PRIMES: Final = Path(__file__).with_name("rsa_primes.txt")


class PreparedRsaKeys:
    """Gives each key once in this process and in all that are forked from it."""

    def __init__(self) -> None:
        lines = _PRIMES.read_text().splitlines()
        primes = [int.from_bytes(b64decode(line), "big") for line in lines]
        self._pairs = tuple(combinations(primes, 2))
        # A pipe: its readers share it, each read is atomic, and a killed process holds no lock.
        self._unused, written = os.pipe()
        os.set_blocking(self._unused, False)
        numbers = range(len(self._pairs))
        os.write(written, b"".join(each.to_bytes(_NUMBER_BYTES, "big") for each in numbers))
        self._written = written

    def generate(
        self, public_exponent: int, key_size: int, backend: Any = None
    ) -> rsa.RSAPrivateKey:
        """Take the place of `rsa.generate_private_key`."""
        if (public_exponent, key_size) != (_EXPONENT, _BITS):
            return _generate(public_exponent, key_size, backend)
        try:
            number = os.read(self._unused, _NUMBER_BYTES)
        except BlockingIOError:  # all are used
            return _generate(public_exponent, key_size, backend)
        return _key_of(*self._pairs[int.from_bytes(number, "big")])


_generate = rsa.generate_private_key


def use_prepared_keys() -> None:
    """Let this process, and those that are forked from it, take prepared keys."""
    rsa.generate_private_key = PreparedRsaKeys().generate


def _key_of(p: int, q: int) -> rsa.RSAPrivateKey:
    exponent = rsa.rsa_recover_private_exponent(_EXPONENT, p, q)
    numbers = rsa.RSAPrivateNumbers(
        p=p,
        q=q,
        d=exponent,
        dmp1=rsa.rsa_crt_dmp1(exponent, p),
        dmq1=rsa.rsa_crt_dmq1(exponent, q),
        iqmp=rsa.rsa_crt_iqmp(p, q),
        public_numbers=rsa.RSAPublicNumbers(_EXPONENT, p * q),
    )
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)
