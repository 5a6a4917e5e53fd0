"""A command of Realmgate, with the time it takes and the most memory it had."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Final

from bench.processes import BenchError
from bench.stack import Site

_TIMEOUT: Final = 1_800
_WATCHING: Final = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
told = (done.stdout + done.stderr)[-800:]
print(json.dumps({"code": done.returncode, "peak": peak, "told": told}))
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """What a command took; `peak` in bytes, `told` is the end of what it printed."""

    seconds: float
    peak: int
    told: str


def watched(site: Site, *arguments: str, **settings: object) -> Watched:
    """Run `realmgate` on a site; raises BenchError where it fails."""
    command = [sys.executable, "-c", _WATCHING, sys.executable, "-m", "gateway", *arguments]
    began = time.monotonic()
    done = subprocess.run(
        command,
        env=site.environment(**settings),
        cwd=site.state,
        capture_output=True,
        text=True,
        check=True,
        timeout=_TIMEOUT,
    )
    seconds = time.monotonic() - began
    answer = json.loads(done.stdout)
    if answer["code"]:
        raise BenchError(f"realmgate {' '.join(arguments)}: {answer['told']}")
    return Watched(seconds, answer["peak"], answer["told"])
