"""How long a token may be used with the renewed certificate of its holder. Own attribute.

A realm has it, and a client, whose value counts instead. docs/trust-in-certificates.md describes
the rule.
"""

import re
from datetime import timedelta
from typing import Final

from gateway.domain.realm.realm import Realm

RENEWAL_OVERLAP: Final = "realmgate.certificates.renewal.overlap"
NO_OVERLAP: Final = timedelta()
LONGEST_OVERLAP: Final = timedelta(days=30)
OVERLAP_FORM: Final = f"whole seconds from 0 to {LONGEST_OVERLAP // timedelta(seconds=1)}"
_SECONDS: Final = re.compile("0|[1-9][0-9]{0,6}", re.ASCII)


def renewal_overlap_of(realm: Realm) -> timedelta:
    """Return the time after the start of a renewed certificate; zero: there is no overlap."""
    text = realm.attributes.get(RENEWAL_OVERLAP)
    return parse_overlap(text) if text else NO_OVERLAP


def is_overlap(text: str) -> bool:
    """Tell whether the text is a number of seconds within the bounds, or empty."""
    return not text or (
        _SECONDS.fullmatch(text) is not None and timedelta(seconds=int(text)) <= LONGEST_OVERLAP
    )


def parse_overlap(text: str) -> timedelta:
    """Return the time; zero for what is none, which is refused where it is written."""
    return timedelta(seconds=int(text)) if text and is_overlap(text) else NO_OVERLAP
