"""How long refused logins take, by what is wrong with them: run in a process of its own.

One keep-alive connection, one request at a time, the kinds in another order each round; whoever is
meant changes from round to round. All answers must be the same to the last byte. Prints JSON.

python -m bench.login_timing PORT PATH CLIENT USERS ROUNDS
"""

import json
import random
import sys
import time
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlencode

from bench.processes import LOAD_CORES, BenchError, output_of
from bench.workspace import ROOT

KINDS = {
    "unknown user": "nobody",
    "wrong": "person",
    "locked": "locked",
    "disabled": "disabled",
    "dear": "dear",
}
"""What is wrong, and how the names of such users begin."""
_WARM = 20
_PATIENCE = 300
_HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}


def refusal_seconds(
    port: int, path: str, client: str, *, users: int, rounds: int
) -> dict[str, list[float]]:
    """Return the durations by kind, in the order in which they were measured."""
    command = [sys.executable, "-m", "bench.login_timing", str(port), path, client]
    command += [str(users), str(rounds)]
    text = output_of(command, cores=LOAD_CORES, seconds=_PATIENCE, cwd=ROOT)
    found: dict[str, list[float]] = json.loads(text)
    return found


def _measure(port: int, path: str, bodies: dict[str, list[str]], rounds: int) -> dict[str, object]:
    seconds: dict[str, list[float]] = {kind: [] for kind in bodies}
    answers = set()
    order = [*bodies]
    shuffled = random.Random(1)  # noqa: S311 - an order, not a secret
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        for number in range(-_WARM, rounds):
            shuffled.shuffle(order)
            for kind in order:
                body = bodies[kind][number % len(bodies[kind])]
                began = time.perf_counter()
                connection.request("POST", path, body, _HEADERS)
                answer = connection.getresponse()
                text = answer.read()
                taken = time.perf_counter() - began
                answers.add((answer.status, text))
                if number >= 0:
                    seconds[kind].append(taken)
    if len(answers) != 1:
        raise BenchError(f"the refusals are not all the same: {answers}")
    return dict(seconds)


def _bodies(client: str, users: int) -> dict[str, list[str]]:
    form = {
        "grant_type": "password",
        "client_id": client,
        "password": "a-Wrong-Password-Of-Length-30",
    }
    return {
        kind: [urlencode(form | {"username": f"{name}-{n}"}) for n in range(1, users + 1)]
        for kind, name in KINDS.items()
    }


if __name__ == "__main__":
    print(
        json.dumps(
            _measure(
                int(sys.argv[1]),
                sys.argv[2],
                _bodies(sys.argv[3], int(sys.argv[4])),
                int(sys.argv[5]),
            )
        )
    )
