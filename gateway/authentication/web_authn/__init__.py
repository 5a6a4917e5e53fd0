"""Security keys and passkeys: how they are stored, registered and presented."""

from gateway.authentication.web_authn.assertions import (
    PASSKEYS,
    SECURITY_KEYS,
    KeyCheck,
    KeyCredentials,
)
from gateway.authentication.web_authn.decoys import PURPOSE as DECOYS
from gateway.authentication.web_authn.decoys import KeyDecoys
from gateway.authentication.web_authn.passkeys import Passkeys
from gateway.authentication.web_authn.registrations import KeyRegistration
from gateway.authentication.web_authn.relying_party import RelyingParty
