"""`realmgate.webhook.secret`: an attribute of a realm that is never shown.

It is answered as `**********`; that text sent back keeps the secret.
"""

from dataclasses import replace

from gateway.domain.realm import (
    LONGEST_WEBHOOK_SECRET,
    SHORTEST_WEBHOOK_SECRET,
    WEBHOOK_SECRET,
    Realm,
)
from gateway.domain.secrets import Secret
from gateway.representations.masking import MASK
from gateway.representations.refusals import join, refused_secret


def with_webhook_secret(realm: Realm, before: Realm, *, is_sent: bool) -> Realm:
    """Return the realm with the secret out of its attributes, if those are sent.

    Otherwise it keeps the secret of `before`. Raises InvalidInput.
    """
    if not is_sent:
        return replace(realm, webhook_secret=before.webhook_secret)
    attributes = dict(realm.attributes)
    text = attributes.pop(WEBHOOK_SECRET, "")
    given = Secret(text) if text else None
    secret = before.webhook_secret if text == MASK else given
    if secret is not None and not _is_long_enough(secret):
        raise refused_secret(join("attributes", WEBHOOK_SECRET), _ALLOWED)
    return replace(realm, attributes=attributes, webhook_secret=secret)


def shown_attributes(realm: Realm, *, masked: bool = True) -> dict[str, str]:
    """Return the attributes with the secret, masked or in clear."""
    if realm.webhook_secret is None:
        return dict(realm.attributes)
    secret = MASK if masked else realm.webhook_secret.reveal()
    return {**realm.attributes, WEBHOOK_SECRET: secret}


def _is_long_enough(secret: Secret) -> bool:
    return SHORTEST_WEBHOOK_SECRET <= len(secret.reveal()) <= LONGEST_WEBHOOK_SECRET


_ALLOWED = f"text of {SHORTEST_WEBHOOK_SECRET} to {LONGEST_WEBHOOK_SECRET} characters"
