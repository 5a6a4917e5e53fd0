"""Runs the demonstration against a running stack: `python -m scripts.demonstration STATE`.

Exit code 1 where an answer is not as it should be.
"""

import argparse
import sys
from http.client import HTTPException
from pathlib import Path

from scripts.demonstration.bound_tokens import demonstrate_bound_tokens
from scripts.demonstration.gateway import Gateway
from scripts.demonstration.protected_service import demonstrate_protected_service
from scripts.demonstration.terminal import Terminal


def main() -> int:
    """Run the demonstration; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.demonstration")
    parser.add_argument("state", type=Path, help="the state folder of a running stack")
    parser.add_argument("--colour", choices=["always", "never"], default="never")
    options = parser.parse_args()
    terminal = Terminal(colour=options.colour == "always")
    try:
        gateway = Gateway(options.state)
        demonstrate_bound_tokens(gateway, terminal)
        demonstrate_protected_service(gateway, terminal)
    except (OSError, HTTPException, ValueError) as failure:
        terminal.check(False, "failed", f"{type(failure).__name__}: {failure}")
    print()
    return 1 if terminal.failures else 0


if __name__ == "__main__":
    sys.exit(main())
