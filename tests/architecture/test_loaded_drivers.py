"""A process loads the driver of the database in use alone. Source: docs/performance.md, memory."""

import subprocess
import sys


def test_a_worker_on_sqlite_loads_no_driver_of_postgresql() -> None:
    code = "import sys, gateway.bootstrap.applications; sys.exit('asyncpg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
