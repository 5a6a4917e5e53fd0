"""A reference model of the guard against guessing: Keycloak's eight steps in plain Python.

Around them, where the realm limits the failures of one address, the rules of addresses.

Written from the description of the rules alone, and kept apart from what it is compared with.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.ports.login_failures import Admission, LoginFailures
from gateway.domain.realm import BruteForce, BruteForceStrategy

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LIFESPAN = timedelta(seconds=30)
MOST_ADDRESSES = 50
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
    caller: str | None = None
    """The address of the last failure, where addresses are counted."""

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
    before: ModelRecord,
    rules: BruteForce,
    now: datetime,
    address: str,
    *,
    otp: bool = False,
    caller: str | None = None,
) -> ModelRecord:
    """Return the record after one failed credential, or code of a one-time password.

    `caller` is the address where addresses are counted.
    """
    perm0 = rules.permanent_lockout and rules.max_temporary_lockouts == 0
    time = (now - EPOCH) // timedelta(milliseconds=1)
    last = before.last_failure
    delta = 0 if last is None else time - last
    record = before
    if not perm0 and delta > rules.max_delta_time / timedelta(milliseconds=1):  # step 2
        record = ModelRecord(permanent=before.permanent, caller=before.caller)
    count = record.num_failures + 1  # step 3
    record = replace(
        record, last_ip_failure=address, last_failure=time, num_failures=count, caller=caller
    )
    wait = 0 if perm0 else _grown_wait(rules, count, rules.failure_factor)  # step 4
    close = last is not None and delta < rules.quick_login_check.total_seconds() * 1000
    if caller is not None and caller == before.caller:
        close = False  # two failures of one address lock the address
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


def _grown_wait(rules: BruteForce, count: int, limit: int) -> int:
    if limit <= 0:
        return 0
    increment = int(rules.wait_increment.total_seconds())
    if rules.strategy is BruteForceStrategy.LINEAR:
        return increment * (1 + count - limit)
    return increment * (count // limit)


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """What is remembered of one address for one user."""

    num_failures: int = 0
    last_failure: datetime | None = None
    locked_before: int = 0
    """Seconds since 1970."""

    def locked(self, now: datetime) -> bool:
        """Tell whether the address is locked out."""
        return int((now - EPOCH).total_seconds()) < self.locked_before

    def forgotten(self, rules: BruteForce, now: datetime) -> bool:
        """Tell whether the next failure begins a new count; a permanent lock-out never forgets."""
        if self.last_failure is None or (
            rules.permanent_lockout and rules.max_temporary_lockouts == 0
        ):
            return False
        return now - self.last_failure > rules.max_delta_time


def address_failed(before: ModelAddress, rules: BruteForce, now: datetime) -> ModelAddress:
    """Return the address after one failure."""
    count = 1 if before.forgotten(rules, now) else before.num_failures + 1
    until = 0 if before.forgotten(rules, now) else before.locked_before
    wait = address_wait(count, rules)
    last = before.last_failure
    if last is not None and now - last < rules.quick_login_check:
        wait = max(wait, int(rules.minimum_quick_login_wait.total_seconds()))
    if wait > 0:
        until = int((now - EPOCH).total_seconds()) + wait
    return ModelAddress(count, now, until)


def address_wait(count: int, rules: BruteForce) -> int:
    """Return the seconds that so many failures of one address lock it out for."""
    grown = _grown_wait(rules, count, rules.failures_per_address)
    return min(grown, int(rules.max_failure_wait.total_seconds()))


@dataclass(slots=True)
class ModelUser:
    """One user's record, the addresses of its failures, and the attempts under way.

    Those have the end of their places and their addresses.
    """

    record: ModelRecord = field(default_factory=ModelRecord)
    addresses: dict[str, ModelAddress] = field(default_factory=dict)
    under_way: dict[str, tuple[datetime, str]] = field(default_factory=dict)

    def reserve(self, attempt: str, rules: BruteForce, now: datetime, address: str) -> Admission:
        """Admit while user and address stay open even if all attempts under way fail now."""
        caller, worst = caller_of(address), ModelUser(self.record, dict(self.addresses))
        if self.record.permanent:
            return Admission.LOCKED_FOR_GOOD
        if worst.locked(rules, now, caller):
            return Admission.LOCKED
        self.under_way = {name: place for name, place in self.under_way.items() if place[0] > now}
        entries = sorted((end, f"{name} {caller_of(by)}", by) for name, (end, by) in self._places())
        for _, _, by in entries:
            worst.fail("", rules, now, by, otp=True)
            if worst.locked(rules, now, caller):
                return Admission.BUSY
        self.under_way[attempt] = (now + LIFESPAN, address)
        return Admission.ADMITTED

    def fail(
        self, attempt: str, rules: BruteForce, now: datetime, address: str, *, otp: bool = False
    ) -> None:
        """Count one failure, of the address and of the user."""
        self.under_way.pop(attempt, None)
        caller = caller_of(address)
        counts, tracked = self._address_failed(caller, rules, now)
        if counts or otp:
            by = caller if tracked else None
            self.record = failed(self.record, rules, now, address, otp=otp, caller=by)

    def succeed(self, attempt: str) -> None:
        """Clear the user's failures and those of the address."""
        _, address = self.under_way.pop(attempt)
        self.record = ModelRecord()
        self.addresses.pop(caller_of(address), None)

    def clear(self) -> bool:
        """Clear everything that is remembered; return whether there was something."""
        some = bool(self.addresses) or self.record.num_failures > 0
        self.record, self.addresses = ModelRecord(), {}
        return some

    def locked(self, rules: BruteForce, now: datetime, caller: str) -> bool:
        """Tell whether the user, or the user for this address, is locked out."""
        known = self.addresses.get(caller) if rules.failures_per_address else None
        return self.record.locked(now) or (known is not None and known.locked(now))

    def _places(self) -> list[tuple[str, tuple[datetime, str]]]:
        return list(self.under_way.items())

    def _address_failed(self, caller: str, rules: BruteForce, now: datetime) -> tuple[bool, bool]:
        """Count a failure of the address; return whether the user's count has it, and this one."""
        limit = rules.failures_per_address
        if not limit:
            return True, False
        self.addresses = {
            name: known
            for name, known in self.addresses.items()
            if not known.forgotten(rules, now) or known.locked(now)
        }
        before = self.addresses.get(caller)
        if before is None and len(self.addresses) >= MOST_ADDRESSES:
            return True, False
        before = before or ModelAddress()
        after = address_failed(before, rules, now)
        self.addresses[caller] = after
        spent = {name for name, known in self.addresses.items() if known.num_failures >= limit}
        had_spent = not before.forgotten(rules, now) and before.num_failures >= limit
        is_free = had_spent and address_wait(after.num_failures, rules) > 0
        return not is_free or bool(spent - {caller}), True
