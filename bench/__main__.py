"""Runs the rows, prints their table, writes results.json and docs/performance*.md."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.context import Bench
from bench.figures import Result, lines
from bench.machine import describe, lone_share
from bench.processes import BenchError
from bench.report import write_report
from bench.rows import (
    account_console,
    accounts,
    administration,
    certificate_verdict,
    crowd,
    device_template,
    dpop,
    earlier,
    events,
    export,
    forward_auth,
    guard,
    handshake,
    hostile_input,
    introspection,
    keycloak,
    keycloak_clients,
    latency,
    listeners,
    live_sessions,
    logins,
    mails,
    memory,
    observability,
    password_flood,
    play,
    population,
    redis_outage,
    refreshes,
    revocation_list,
    sessions,
    sign_ins,
    start,
    timing,
    tokens,
    users,
    workers,
)
from bench.workspace import BENCH, DEFAULT, FULL, QUICK, Workspace

ROWS = {
    "tokens": tokens,
    "workers": workers,
    "population": population,
    "observability": observability,
    "latency": latency,
    "introspection": introspection,
    "dpop": dpop,
    "device template": device_template,
    "logins": logins,
    "sign-ins": sign_ins,
    "accounts": accounts,
    "account console": account_console,
    "listeners": listeners,
    "guard": guard,
    "forward auth": forward_auth,
    "refreshes": refreshes,
    "redis outage": redis_outage,
    "crowd": crowd,
    "password flood": password_flood,
    "timing": timing,
    "sessions": sessions,
    "live sessions": live_sessions,
    "users": users,
    "events": events,
    "export": export,
    "administration": administration,
    "keycloak": keycloak,
    "keycloak clients": keycloak_clients,
    "play": play,
    "certificate verdict": certificate_verdict,
    "handshake": handshake,
    "mails": mails,
    "memory": memory,
    "hostile input": hostile_input,
    "revocation list": revocation_list,
    "start": start,
    "earlier": earlier,
}

_ALONE = 0.97
"""Of the server's core a lone process must get so much before and after, or others were there."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measure Realmgate on this machine. Without options: most of an hour.",
        epilog="On a machine left alone, what was measured replaces its rows in bench/results.json"
        " and the tables of docs/performance*.md; --quick replaces nothing.",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="short rounds, rough figures")
    length.add_argument("--full", action="store_true", help="longer rounds, 10,000,000 events")
    parser.add_argument("--only", metavar="ROW", action="append", choices=ROWS, help=str([*ROWS]))
    parser.add_argument(
        "--earlier", metavar="REVISION", help="what the row `earlier` compares this version with"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the results go")
    return parser.parse_args()


def _rows(earlier: str | None) -> list[str]:
    """Return all rows; without a revision there is none to compare this version with."""
    return [name for name in ROWS if name != "earlier" or earlier is not None]


def main() -> int:
    """Measure what was asked for; 0 when every gate was kept."""
    arguments = _arguments()
    plan = QUICK if arguments.quick else FULL if arguments.full else DEFAULT
    machine = describe()
    for name, value in machine.items():
        print(f"{name:<22} {value}")
    results: dict[str, Result] = {}
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="realmgate-bench-") as folder:
        bench = Bench(Workspace(Path(folder), plan), arguments.earlier)
        for name in arguments.only or _rows(arguments.earlier):
            began = time.monotonic()
            try:
                results[name] = ROWS[name].measure(bench)
            except BenchError as error:
                failed.append(name)
                print(f"\n{name}: not measured: {error}", file=sys.stderr)
                continue
            print()
            print(*lines(ROWS[name].TITLE, results[name]), sep="\n")
            print(f"  ({name}, {time.monotonic() - began:.0f} s)", flush=True)
    machine["lone_share"] = min(machine["lone_share"], lone_share())
    alone = machine["lone_share"] >= _ALONE
    if not alone:
        print(
            f"\nOthers used core 0, a lone process had {machine['lone_share']:.0%} of it: rates and"
            " their ratios mean nothing, only processor times do.",
            file=sys.stderr,
        )
    document = _document(machine, results)
    if arguments.output is not None:
        _write(document, arguments.output)
    elif alone and not arguments.quick:
        _keep(document)
    kept = all(
        figure.gate.keeps(figure.value)
        for result in results.values()
        for figure in result.figures
        if figure.gate is not None
    )
    return 0 if kept and alone and not failed else 1


def _keep(document: dict[str, Any]) -> None:
    """Replace the rows that were measured; the others stay, each says when it was measured."""
    file = BENCH / "results.json"
    known = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else {}
    rows = known | document["rows"]
    document = document | {"rows": {name: rows[name] for name in ROWS if name in rows}}
    _write(document, file)
    write_report(document)


def _write(document: dict[str, Any], file: Path) -> None:
    file.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _document(machine: dict[str, Any], results: dict[str, Result]) -> dict[str, Any]:
    return {
        "machine": machine,
        "rows": {
            name: {
                "title": ROWS[name].TITLE,
                "measured_at": machine["measured_at"],
                "commit": machine["commit"],
                "how": result.how,
                "figures": [figure.document() for figure in result.figures],
            }
            for name, result in results.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
