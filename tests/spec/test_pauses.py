"""Documents of many parts do not hold up other requests: how much of the work is done at once.

A pause is the processor time that the workers take while one small request waits for its answer,
so that other programs do not matter. It is bounded in seconds, and as a share of the whole work.
`scripts/bench --only "hostile input"` measures how long pauses are on an idle machine.
"""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.spec_stack import Stack

CLIENTS = 5_000
GROUPS = 2_500
REFUSED = 25_000
MEMBERS = 200_000
NESTED = 10_000
LARGEST_SHARE = 0.3
"""Of the work for a document. With turns it is at most 0.1, in one step 0.4 to 0.9."""
LONGEST_PAUSE = 0.2
"""In seconds. It is at most 0.04; 0.5 to 1.7 where a thread does not let the event loop go on."""


def processor_seconds(stack: Stack) -> float:
    """Return the processor time of all threads of the workers, to the nanosecond."""
    total = 0
    for worker in stack.gateways[0].workers():
        for task in os.scandir(f"/proc/{worker}/task"):
            try:
                total += int(Path(task.path, "schedstat").read_text().split()[0])
            except (FileNotFoundError, ProcessLookupError):  # the thread has ended
                continue
    return total / 1e9


def longest_pause(stack: Stack, work: "Future[httpx2.Response]") -> float:
    """Ask small requests until the work is done; return the most that one of them waited for."""
    longest = 0.0
    while not work.done():
        before = processor_seconds(stack)
        assert stack.http.get(f"{stack.nginx.https}/realms/spec").status_code == 200
        longest = max(longest, processor_seconds(stack) - before)
    return longest


def send(stack: Stack, method: str, path: str, document: Any = None) -> httpx2.Response:
    """Send a document to the admin API."""
    return stack.http.request(
        method,
        f"{stack.nginx.https}/admin/realms{path}",
        json=document,
        headers={"Authorization": f"Bearer {stack.administrator()}"},
        timeout=120,
    )


@pytest.fixture(scope="module")
def pauses(spec: Stack) -> dict[str, tuple[int, float, float]]:
    """Each request about very many parts: its status, its longest pause and that one's share."""
    clients = [{"clientId": f"c{number}"} for number in range(CLIENTS)]
    groups = [{"name": f"g{number}"} for number in range(GROUPS)]
    # Reading so many takes as long as of a document that is accepted; storing them longer.
    refused = [*({"clientId": f"c{number}"} for number in range(REFUSED)), {"clientId": []}]
    asked: dict[str, tuple[str, str, Any]] = {
        "create": ("POST", "", {"realm": "large", "clients": clients, "groups": groups}),
        "import": (
            "POST",
            "/large/partialImport",
            {"ifResourceExists": "SKIP", "clients": clients, "groups": groups},
        ),
        "list": ("GET", "/large/clients?max=5000", None),
        "export": ("POST", "/large/partial-export?exportClients=true", None),
        "delete": ("DELETE", "/large", None),
        "refused": ("POST", "", {"realm": "refused", "clients": refused}),
        "members": ("POST", "", {f"m{number}": number for number in range(MEMBERS)}),
        "nested": ("POST", "", {"realm": "n", "attributes": [[{"a": [1]}] * 100] * NESTED}),
        "unfinished": ("POST", "", [[[{"a": [1]}] * 100] * NESTED, "\0"]),
    }
    found: dict[str, tuple[int, float, float]] = {}
    with ThreadPoolExecutor(1) as threads:
        for name, (method, path, document) in asked.items():
            before = processor_seconds(spec)
            work = threads.submit(send, spec, method, path, document)
            pause = longest_pause(spec, work)
            whole = processor_seconds(spec) - before
            found[name] = (work.result().status_code, pause, pause / whole)
    return found


@pytest.mark.parametrize(
    ("request_name", "status"),
    [
        ("create", 201),
        ("import", 200),
        ("list", 200),
        ("export", 200),
        ("delete", 204),
        ("refused", 400),
        ("members", 400),
        ("nested", 400),
        ("unfinished", 400),
    ],
)
def test_large_documents_do_not_hold_up_small_requests(
    pauses: dict[str, tuple[int, float, float]], request_name: str, status: int
) -> None:
    answered, pause, share = pauses[request_name]
    assert answered == status
    assert pause < LONGEST_PAUSE
    assert share < LARGEST_SHARE
