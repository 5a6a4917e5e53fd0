"""The message of the console after a change, which a reload of the page shows again.

The URL of the page names it; no decision depends on it.
"""

from enum import StrEnum
from typing import Final

from gateway.domain.texts import Text
from gateway.http.pages.page_values import Message, MessageKind
from gateway.protocol.parameters import Parameters


class Notice(StrEnum):
    """What was changed: the value of the parameter `notice`."""

    UPDATED = "updated"
    SIGNED_OUT = "signed-out"
    OTHERS_SIGNED_OUT = "others-signed-out"
    CONSENT_REMOVED = "consent-removed"
    FORM_EXPIRED = "form-expired"


_SUCCESS, _INFO = MessageKind.SUCCESS, MessageKind.INFO
_MESSAGES: Final = {
    Notice.UPDATED: Message(Text("accountUpdatedMessage"), _SUCCESS),
    Notice.SIGNED_OUT: Message(Text("accountSignedOutMessage"), _SUCCESS),
    Notice.OTHERS_SIGNED_OUT: Message(Text("accountOthersSignedOutMessage"), _SUCCESS),
    Notice.CONSENT_REMOVED: Message(Text("accountConsentRemovedMessage"), _SUCCESS),
    Notice.FORM_EXPIRED: Message(Text("accountFormExpiredMessage"), MessageKind.WARNING),
}
_OF_ACTIONS: Final = {
    "success": _MESSAGES[Notice.UPDATED],
    "cancelled": Message(Text("accountActionCancelledMessage"), _INFO),
    "error": Message(Text("accountActionFailedMessage")),
}
"""By `kc_action_status`."""


def message_of(parameters: Parameters) -> Message | None:
    """Return the message that the URL of a page names, if any."""
    notice = parameters.get("notice")
    if notice in set(Notice):
        return _MESSAGES[Notice(notice)]
    return _OF_ACTIONS.get(parameters.get("kc_action_status") or "")
