"""Locking accounts after failed sign-ins. Keycloak: brute force detection, creation defaults."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class BruteForceStrategy(StrEnum):
    """How the wait grows with each lock-out."""

    LINEAR = "LINEAR"
    """By one `wait_increment` per failure above the factor."""
    MULTIPLE = "MULTIPLE"
    """By one `wait_increment` per full multiple of the factor."""


@dataclass(frozen=True, slots=True)
class BruteForce:
    """The guard against guessing passwords; every field counts per user."""

    protected: bool = False
    """`bruteForceProtected`: whether the guard works at all."""
    permanent_lockout: bool = False
    """`permanentLockout`: lock for good instead of for a while."""
    max_temporary_lockouts: int = 0
    """`maxTemporaryLockouts`: how many temporary lock-outs come before a permanent one."""
    strategy: BruteForceStrategy = BruteForceStrategy.MULTIPLE
    """`bruteForceStrategy`: how the wait grows."""
    max_failure_wait: timedelta = timedelta(minutes=15)
    """`maxFailureWaitSeconds`: the longest lock-out; seconds."""
    minimum_quick_login_wait: timedelta = timedelta(minutes=1)
    """`minimumQuickLoginWaitSeconds`: the lock-out after two quick failures; seconds."""
    wait_increment: timedelta = timedelta(minutes=1)
    """`waitIncrementSeconds`: what each lock-out adds; seconds."""
    quick_login_check: timedelta = timedelta(seconds=1)
    """`quickLoginCheckMilliSeconds`: failures closer together are quick; milliseconds."""
    max_delta_time: timedelta = timedelta(hours=12)
    """`maxDeltaTimeSeconds`: failures further apart start a new count; seconds."""
    failure_factor: int = 30
    """`failureFactor`: failures that trigger a lock-out."""
    max_secondary_failures: int = 0
    """`maxSecondaryAuthFailures`: failures of a second factor that lock; 0 counts none apart."""
