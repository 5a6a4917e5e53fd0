"""Lock-outs of one address for one user. Own attribute of a realm.

docs/sessions-and-lock-outs.md describes the rules; attacks: D5
"""

import re
from dataclasses import replace
from typing import Final

from gateway.domain.realm.realm import Realm
from gateway.domain.realm.sign_in import BruteForce

FAILURES_PER_ADDRESS: Final = "realmgate.bruteForce.failuresPerAddress"
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)


def is_failure_limit(text: str) -> bool:
    """Tell whether the text is a number of failures; the empty one is 0."""
    return not text or _NUMBER.fullmatch(text) is not None


def brute_force_rules(realm: Realm) -> BruteForce:
    """Return the rules of the guard, with the failures that lock one address out."""
    text = realm.attributes.get(FAILURES_PER_ADDRESS, "")
    if not text or not is_failure_limit(text):
        return realm.brute_force
    return replace(realm.brute_force, failures_per_address=int(text))
