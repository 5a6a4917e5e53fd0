"""Families of refresh tokens equal a small model, whatever is presented in whichever order."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from gateway.domain.secrets import SecretsAtRest
from gateway.domain.sessions import Rotation
from gateway.storage.sql.database import SqlDatabase
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, store_realms

_NAMES = (f"name-{number}" for number in count())


@dataclass
class Model:
    """What a family may answer, told by the tokens that were given out for each use."""

    turn: str
    uses: int = 0
    given: set[str] = field(default_factory=set)
    ended: bool = False

    def use(self, token: str, successor: str, max_reuse: int) -> Rotation:
        """Say what the family must answer."""
        if self.ended:
            return Rotation.STALE
        if token in self.given:
            self.turn, self.uses, self.given = token, 1, {successor}
            return Rotation.ACCEPTED
        if token == self.turn and self.uses <= max_reuse:
            self.uses += 1
            self.given.add(successor)
            return Rotation.ACCEPTED
        self.ended = True
        return Rotation.REUSED if token == self.turn else Rotation.STALE


class Families(RuleBasedStateMachine):
    """Two families of one session, in step with their models; tokens may be mixed up."""

    runner: asyncio.Runner
    databases: tuple[SqlDatabase, SqlDatabase]

    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        self._session = next(_NAMES)
        self._models: dict[str, Model] = {}

    @initialize(target=tokens)
    def begin(self) -> str:
        """Begin the families."""
        token = ""
        for _ in range(2):
            family, token = next(_NAMES), next(_NAMES)
            self._models[family] = Model(token)
            self.runner.run(self._begin(family, token))
        return token

    @rule(
        target=tokens,
        token=tokens | st.just("forged"),
        whose=st.sampled_from(["any", "the current"]),
        family=st.integers(0, 1),
        gateway=st.integers(0, 1),
        max_reuse=st.sampled_from([0, 0, 1, 2]),
    )
    def use(self, token: str, whose: str, family: int, gateway: int, max_reuse: int) -> str:
        """Present a token to one of them, on one of the gateways."""
        name = list(self._models)[family]
        model, successor = self._models[name], next(_NAMES)
        presented = token if whose == "any" else model.turn
        answer = self.runner.run(
            self._rotate(self.databases[gateway], name, presented, successor, max_reuse)
        )
        assert answer is model.use(presented, successor, max_reuse)
        return successor

    @rule(rarely=st.integers(0, 5))
    def sign_out(self, rarely: int) -> None:
        """End the session."""
        if rarely:
            return
        living = [model for model in self._models.values() if not model.ended]
        assert self.runner.run(self._sign_out()) == len(living)
        for model in living:
            model.ended = True

    async def _begin(self, family: str, token: str) -> None:
        async with self.databases[0].write() as stores:
            await stores.refresh_tokens.begin(
                "demo-id", family, session_id=self._session, token_id=token, expires_at=NOW
            )

    async def _rotate(
        self, database: SqlDatabase, family: str, token: str, successor: str, max_reuse: int
    ) -> Rotation:
        return await database.rotations.rotate(
            "demo-id",
            family,
            token,
            successor=successor,
            max_reuse=max_reuse,
            expires_at=NOW,
        )

    async def _sign_out(self) -> int:
        async with self.databases[1].write() as stores:
            return await stores.refresh_tokens.end_of_session("demo-id", self._session)


@pytest.fixture
def machine(
    stored_database: StoredDatabase, secrets_at_rest: SecretsAtRest
) -> Iterator[type[Families]]:
    """Return the machine over one database that two gateways have opened."""
    opened = [SqlDatabase(stored_database.url, secrets_at_rest) for _ in range(2)]
    with asyncio.Runner() as runner:
        runner.run(store_realms(opened[0], "demo"))
        yield type("Opened", (Families,), {"runner": runner, "databases": tuple(opened)})
        for database in opened:
            runner.run(database.dispose())


def test_families_answer_as_their_model_does(machine: type[Families]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
