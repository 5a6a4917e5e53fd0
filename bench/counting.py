"""What counting one token request costs: run in a process of its own, prints JSON.

python -m bench.counting FOLDER
"""

import json
import sys
import time
from pathlib import Path
from statistics import median

_BATCHES = 9
_BATCH = 5_000


def _main(folder: Path) -> None:
    # The order matters: the library looks where it shall share when it is imported.
    from gateway.settings import share_metrics  # noqa: PLC0415

    share_metrics(folder)
    from gateway.observability.metrics import PrometheusMetrics  # noqa: PLC0415

    metrics = PrometheusMetrics({"client_credentials"})
    taken = []
    for _ in range(_BATCHES):
        began = time.process_time()
        for _ in range(_BATCH):
            metrics.token_grant("bench", "client_credentials", "issued")
            metrics.request("/realms/{realm}/protocol/openid-connect/token", "POST", 200, 0.001)
        taken.append((time.process_time() - began) / _BATCH)
    print(json.dumps({"seconds": median(taken)}))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
