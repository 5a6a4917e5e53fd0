"""Devices without a browser: they ask here, and their users answer in a browser elsewhere."""

from gateway.protocol.device_authorization.approvals import DeviceApprovals, DeviceResult
from gateway.protocol.device_authorization.connection import DeviceConnection, names_device
from gateway.protocol.device_authorization.endpoint import (
    DeviceAuthorizationEndpoint,
    IssuedDeviceCodes,
    verification_uri,
)
from gateway.protocol.device_authorization.user_codes import (
    UserCodeRefused,
    UserCodes,
    note_verified,
)
