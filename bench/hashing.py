"""How many raw password hashes a core makes: run in a process of its own, prints JSON.

python -m bench.hashing ROUNDS SECONDS
"""

import json
import sys
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from bench.processes import SERVER_CORES, output_of
from bench.signing import Limit
from bench.workspace import ROOT

_PASSWORD = b"a-Password-Of-16-Characters-1"


def hashing_limit(rounds: int, seconds: float) -> Limit:
    """Measure PBKDF2-SHA256 on the server's core."""
    command = [sys.executable, "-m", "bench.hashing", str(rounds), str(seconds)]
    return Limit(
        **json.loads(output_of(command, cores=SERVER_CORES, seconds=seconds + 30, cwd=ROOT))
    )


def _main(rounds: int, seconds: float) -> None:
    count, began, processor = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        PBKDF2HMAC(hashes.SHA256(), 32, bytes(16), rounds).derive(_PASSWORD)
        count += 1
    rate = count / (time.perf_counter() - began)
    print(json.dumps({"rate": rate, "seconds": (time.process_time() - processor) / count}))


if __name__ == "__main__":
    _main(int(sys.argv[1]), float(sys.argv[2]))
