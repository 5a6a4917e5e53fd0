"""The state of a worker between its start and its end, which its readiness reports."""

from dataclasses import dataclass


@dataclass(slots=True)
class Lifecycle:
    """The state of one worker; while it drains, readiness fails."""

    started: bool = False
    draining: bool = False
