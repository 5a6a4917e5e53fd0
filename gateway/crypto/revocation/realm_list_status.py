"""The state of the revocation lists of one realm, for health and metrics."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from gateway.crypto.revocation.downloads import DownloadedLists
from gateway.crypto.revocation.list_rule import end_of


@dataclass(frozen=True, slots=True)
class RealmListStatus:
    """The lists of one realm that were used. `problem` says why a URL has none, or an old one."""

    realm: str
    age: timedelta | None
    next_update: datetime | None
    problem: str | None


def realm_list_status(
    realm: str, lists: Collection[DownloadedLists], now: datetime
) -> RealmListStatus:
    """Return the state of the lists of the realm with that name."""
    used = [item for each in lists for item in each.verified]
    next_update = min(map(end_of, used), default=None)
    problem = next((each.problem for each in lists if each.problem), None)
    if problem is None and next_update is not None and next_update < now:
        problem = "a list is stale"
    age = max((now - item.issued for item in used), default=None)
    return RealmListStatus(realm, age, next_update, problem)
