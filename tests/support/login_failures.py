"""A reference model of the guard against guessing: Keycloak's seven steps in plain Python.

Written from the description of the rules alone, and kept apart from what it is compared with.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from gateway.domain.login_failures import Admission, LoginFailures
from gateway.domain.realm import BruteForce, BruteForceStrategy

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIFESPAN = timedelta(seconds=30)
START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What Keycloak remembers of one user."""

    num_failures: int = 0
    num_temporary_lockouts: int = 0
    failed_login_not_before: int = 0
    last_failure: int | None = None
    last_ip_failure: str | None = None
    permanent: bool = False
    num_secondary_auth_failures: int = 0

    def locked(self, now: datetime) -> bool:
        """Temporarily disabled is: now, in whole seconds, is before notBefore."""
        return self.permanent or int((now - EPOCH).total_seconds()) < self.failed_login_not_before

    def shown(self) -> LoginFailures:
        """Return the record as the store shows it."""
        until, last = self.failed_login_not_before, self.last_failure
        return LoginFailures(
            failures=self.num_failures,
            temporary_lockouts=self.num_temporary_lockouts,
            locked_until=EPOCH + timedelta(seconds=until) if until else None,
            last_failure=None if last is None else EPOCH + timedelta(milliseconds=last),
            last_address=self.last_ip_failure,
            permanent=self.permanent,
            secondary_failures=self.num_secondary_auth_failures,
        )


def failed(
    before: ModelRecord, rules: BruteForce, now: datetime, address: str, *, otp: bool = False
) -> ModelRecord:
    """Return the record after one failed credential, or code of a one-time password."""
    perm0 = rules.permanent_lockout and rules.max_temporary_lockouts == 0
    time = (now - EPOCH) // timedelta(milliseconds=1)
    last = before.last_failure
    delta = 0 if last is None else time - last
    record = before
    if not perm0 and delta > rules.max_delta_time / timedelta(milliseconds=1):  # step 2
        record = ModelRecord(permanent=before.permanent)
    count = record.num_failures + 1  # step 3
    record = replace(record, last_ip_failure=address, last_failure=time, num_failures=count)
    wait = 0 if perm0 else _grown_wait(rules, count)  # step 4
    close = last is not None and delta < rules.quick_login_check.total_seconds() * 1000
    quick = wait <= 0 and close  # step 5
    if not perm0:
        wait = min(wait, int(rules.max_failure_wait.total_seconds()))
    if close:  # step 6, and the specification's "at least"
        wait = max(wait, int(rules.minimum_quick_login_wait.total_seconds()))
    if wait > 0:
        lockouts = record.num_temporary_lockouts + (0 if quick else 1)
        record = replace(record, num_temporary_lockouts=lockouts)
        if quick or not rules.permanent_lockout or lockouts <= rules.max_temporary_lockouts:
            record = replace(record, failed_login_not_before=time // 1000 + wait)
    if rules.permanent_lockout and (  # step 7
        record.num_temporary_lockouts > rules.max_temporary_lockouts
        or (rules.max_temporary_lockouts == 0 and count >= rules.failure_factor)
    ):
        record = replace(record, permanent=True)
    if otp:  # step 8
        secondary = record.num_secondary_auth_failures + 1
        too_many = 0 < rules.max_secondary_failures < secondary
        record = replace(
            record,
            num_secondary_auth_failures=secondary,
            permanent=record.permanent or too_many,
        )
    return record


def _grown_wait(rules: BruteForce, count: int) -> int:
    if rules.failure_factor <= 0:
        return 0
    increment = int(rules.wait_increment.total_seconds())
    if rules.strategy is BruteForceStrategy.LINEAR:
        return increment * (1 + count - rules.failure_factor)
    return increment * (count // rules.failure_factor)


@dataclass(slots=True)
class ModelUser:
    """One user's record, and the attempts under way with the end of their places."""

    record: ModelRecord = field(default_factory=ModelRecord)
    under_way: dict[str, datetime] = field(default_factory=dict)

    def reserve(self, attempt: str, rules: BruteForce, now: datetime) -> Admission:
        """Admit while the account stays open even if all attempts under way fail now."""
        if self.record.permanent:
            return Admission.LOCKED_FOR_GOOD
        if self.record.locked(now):
            return Admission.LOCKED
        self.under_way = {name: end for name, end in self.under_way.items() if end > now}
        worst = self.record
        for _ in self.under_way:
            worst = failed(worst, rules, now, "", otp=True)
            if worst.locked(now):
                return Admission.BUSY
        self.under_way[attempt] = now + LIFESPAN
        return Admission.ADMITTED

    def fail(
        self, attempt: str, rules: BruteForce, now: datetime, address: str, *, otp: bool = False
    ) -> None:
        """Count one failure."""
        self.under_way.pop(attempt, None)
        self.record = failed(self.record, rules, now, address, otp=otp)
