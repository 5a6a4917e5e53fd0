"""Runs of configuration tools, made of what they sent to Keycloak: tests/clients/recordings.

Ids, generated values and tokens become those of the server, as in the tests' replay.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from bench.processes import BenchError
from bench.stack import Stack
from bench.timed_client import TimedClient
from tests.support.recorded_exchanges import Exchange, read_recording
from tests.support.replay import ID, Replay

Exchanges = tuple[Exchange, ...]
_RECORDED_PASSWORD_POLICY = "length(8)"  # noqa: S105 - a policy
_CLIENT_PARTS = ((24, 25), (31,), (37, 38, 40), (61,), (158,))
"""Exchanges with which keycloak-config-cli imports a client, in groups that follow each other."""
_CLIENT, _CLIENT_SHOWN = "app", 37
_USER_PARTS = ((*range(96, 122),),)
_USER, _USER_SHOWN = "alice", 99


@dataclass(frozen=True, slots=True)
class Run:
    """What a run took, in seconds: waiting for responses, and the gateway's processor time."""

    requests: int
    waited: float
    gateway: float


@dataclass(frozen=True, slots=True)
class _Server:
    url: str
    password: str
    http: TimedClient


def play_back(target: Stack, password: str, exchanges: Exchanges) -> Run:
    """Send the requests of a run over one connection; another status is an error."""
    client = TimedClient(target.https_port, target.site.certificates / "ca.crt")
    before = target.gateway_seconds()
    with closing(client):
        replay = Replay(_Server(client.url, password, client))
        for exchange, answer in replay.run(exchanges):
            if answer.status != exchange.status:
                raise BenchError(
                    f"{exchange.method} {exchange.path}: {answer.status} instead of"
                    f" {exchange.status}: {str(answer.body)[:300]}"
                )
    return Run(len(exchanges), client.seconds, target.gateway_seconds() - before)


def terraform_apply(realm: str) -> Exchanges:
    """Return how Terraform applies its 51 resources to a new realm of this name."""
    recorded = _step("terraform_clean", "apply")
    return tuple(_replaced(exchange, {"tf-x": realm}) for exchange in recorded)


def config_cli_import(realm: str, policy: str, clients: int, users: int) -> Exchanges:
    """Return how keycloak-config-cli imports a realm with so many clients and users.

    What it sends for the one client and the one user of the recording is repeated. The realm has
    the password policy `policy`.
    """
    recorded = {exchange.number: exchange for exchange in _step("config_cli", "import")}
    copies = _Copies(recorded, _CLIENT, _ids(recorded[_CLIENT_SHOWN])).parts(_CLIENT_PARTS, clients)
    copies |= _Copies(recorded, _USER, _ids(recorded[_USER_SHOWN])).parts(_USER_PARTS, users)
    all_exchanges = (
        one for number, exchange in recorded.items() for one in copies.get(number, (exchange,))
    )
    texts = {"cc-x": realm, f'"{_RECORDED_PASSWORD_POLICY}"': f'"{policy}"'}
    return tuple(_replaced(exchange, texts) for exchange in all_exchanges)


def _step(recording: str, step: str) -> Iterator[Exchange]:
    return (exchange for exchange in read_recording(recording) if exchange.step == step)


def _ids(exchange: Exchange) -> frozenset[str]:
    return frozenset(ID.findall(json.dumps(exchange.response)))


def _replaced(exchange: Exchange, texts: dict[str, str]) -> Exchange:
    """Return the exchange with other texts in path, request, location and response."""
    text = json.dumps([exchange.path, exchange.location, exchange.request, exchange.response])
    for old, new in texts.items():
        text = text.replace(old, new)
    path, location, request, response = json.loads(text)
    return replace(exchange, path=path, location=location, request=request, response=response)


@dataclass(frozen=True, slots=True)
class _Copies:
    """The exchanges of one recorded client or user, and the same for further ones."""

    recorded: dict[int, Exchange]
    name: str
    ids: Collection[str]

    def parts(self, parts: Sequence[Sequence[int]], count: int) -> dict[int, Exchanges]:
        """Return what takes the place of each exchange: a group stands where its first one does."""
        places: dict[int, Exchanges] = {}
        for part in parts:
            present = [number for number in part if number in self.recorded]
            places |= dict.fromkeys(present, ())
            places[present[0]] = tuple(
                self._copy(self.recorded[number], copy)
                for copy in range(1, count + 1)
                for number in present
            )
        return places

    def _copy(self, exchange: Exchange, number: int) -> Exchange:
        if number == 1:
            return exchange
        copied = f"{self.name}-{number}"
        quoted = {
            f"{before}{self.name}{after}": f"{before}{copied}{after}"
            for before, after in (('"', '"'), ("clientId=", '"'), ("username=", "&"), ('"', "@"))
        }
        quoted[f"email={self.name}"] = f"email={copied}"
        return _replaced(exchange, quoted | {one: f"{one[:24]}{number:012x}" for one in self.ids})
