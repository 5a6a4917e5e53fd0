"""max_age is a number of seconds. Spec: OpenID Connect Core §3.1.2.1; Keycloak: 12.10."""

import re
from datetime import timedelta
from typing import Final

from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.errors import invalid_request_page

_NUMBER: Final = re.compile("-?[0-9]{1,10}", re.ASCII)
_LARGEST: Final = 2**31 - 1


def check(draft: AuthorizationDraft) -> None:
    """Keep the number; raises PageError."""
    text = draft.get("max_age")
    if text is None:
        return
    if _NUMBER.fullmatch(text) is None or int(text) > _LARGEST:
        raise invalid_request_page("max_age is no number of seconds")
    # Of a negative one every sign-in is too old, as in Keycloak.
    draft.max_age = timedelta(seconds=max(int(text), 0))
