"""The one gate before every check of a credential: no more looks than the realm allows."""

from gateway.domain.clock import Clock
from gateway.domain.ports.login_failures import LoginFailureStore
from gateway.domain.ports.metrics import Metrics
from gateway.domain.realm import BruteForce


class BruteForceGuard:
    """Admits attempts and counts what came of them."""

    def __init__(self, store: LoginFailureStore, clock: Clock, metrics: Metrics) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics

    async def is_locked(self, rules: BruteForce, realm_id: str, user_id: str) -> bool:
        """Tell whether the user is locked out now; for ways in that look at no password."""
        if not rules.protected:
            return False
        record = await self._store.record(realm_id, user_id)
        return record.is_locked(self._clock.now())
