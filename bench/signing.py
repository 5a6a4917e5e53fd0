"""How many raw signatures a core makes: run in a process of its own, prints JSON.

python -m bench.signing ALGORITHM SECONDS
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from bench.processes import SERVER_CORES, output_of
from bench.workspace import ROOT

_MESSAGE = b"x" * 700
_BATCH = 20


@dataclass(frozen=True, slots=True)
class Limit:
    """Signatures a second, and the processor seconds of one."""

    rate: float
    seconds: float

    @property
    def share(self) -> float:
        """How much of its core the signing process had: less than 1 where others used it."""
        return self.rate * self.seconds


def signing_limit(algorithm: str, seconds: float) -> Limit:
    """Measure on the server's core; `algorithm` is RS256 or ES256."""
    command = [sys.executable, "-m", "bench.signing", algorithm, str(seconds)]
    return Limit(
        **json.loads(output_of(command, cores=SERVER_CORES, seconds=seconds + 30, cwd=ROOT))
    )


def _measure(algorithm: str, seconds: float) -> Limit:
    sign = _signer(algorithm)
    sign()
    count, began, processor = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        for _ in range(_BATCH):
            sign()
        count += _BATCH
    return Limit(
        rate=count / (time.perf_counter() - began),
        seconds=(time.process_time() - processor) / count,
    )


def _signer(algorithm: str) -> Callable[[], bytes]:
    if algorithm == "ES256":
        curve_key = ec.generate_private_key(ec.SECP256R1())
        scheme = ec.ECDSA(hashes.SHA256())
        return lambda: curve_key.sign(_MESSAGE, scheme)
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pkcs1, digest = padding.PKCS1v15(), hashes.SHA256()
    return lambda: rsa_key.sign(_MESSAGE, pkcs1, digest)


if __name__ == "__main__":
    limit = _measure(sys.argv[1], float(sys.argv[2]))
    print(json.dumps({"rate": limit.rate, "seconds": limit.seconds}))
