"""Devices of a client: thousands of certificates that authenticate one client.

A device is known by a name in its certificate that fits the client's template. There is no list of
devices and no secret.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from gateway.domain.certificate_names import (
    DEVICE_CLAIM,
    CertificateTemplate,
    Device,
)
from gateway.domain.certificates import ClientCertificate

LONGEST_DEVICE_LOCK: Final = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class DeviceSettings:
    """The template of a client, and the limits of each device."""

    template: CertificateTemplate | None = None
    """`realmgate.certificate.template`: None for a client that is one device."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """`realmgate.certificate.template.claims`: claim by placeholder; else its own name."""
    tokens_per_minute: int = 0
    """`realmgate.certificate.device.quota`: token requests of one device; 0: without a limit."""
    failures: int = 0
    """`realmgate.certificate.device.failures`: refused token requests within `lock_duration` that
    lock a device; 0: none do."""
    lock_duration: timedelta = timedelta(minutes=5)
    """`realmgate.certificate.device.lock`: how long such a lock lasts."""

    def device_of(self, certificate: ClientCertificate | None) -> Device | None:
        """Return the device of a trusted certificate.

        None for a certificate without a name that fits, and for one with several.
        """
        if self.template is None or certificate is None or not certificate.identifies:
            return None
        found = self.template.devices(certificate.leaf)
        return found[0] if len(found) == 1 else None

    def claims_of(self, device: Device) -> dict[str, str]:
        """Return the claims of the device's tokens: its placeholders, and its whole name."""
        named = {self.claims.get(name, name): value for name, value in device.values.items()}
        return {**named, DEVICE_CLAIM: device.name}
