"""Locks of devices: JSON to values and back."""

from collections.abc import Mapping
from datetime import UTC, timedelta
from typing import Any, Final

from gateway.domain.certificate_names import LONGEST_DEVICE_NAME
from gateway.domain.ports.sign_in.device_locks import DeviceLock
from gateway.representations.field_table import parse_strictly
from gateway.representations.refusals import refused
from gateway.representations.shapes import Count, Shape, Text

REPRESENTATION: Final = "DeviceLockRepresentation"


def parse_device_lock(
    document: Mapping[str, Any], longest: timedelta
) -> tuple[str, timedelta | None]:
    """Return the device and for how long it is locked, None for the standard time.

    Raises UnknownField and InvalidInput.
    """
    most = int(longest.total_seconds())
    fields: Mapping[str, Shape] = {
        "device": Text(least=1, most=LONGEST_DEVICE_NAME),
        "seconds": Count(least=1, most=most, unit="seconds"),
    }
    given = parse_strictly(document, fields, REPRESENTATION)
    if "device" not in given:
        raise refused("device", None, "the whole name of a device in its certificate")
    seconds = given.get("seconds")
    return given["device"], None if seconds is None else timedelta(seconds=seconds)


def render_device_lock(lock: DeviceLock) -> dict[str, Any]:
    """Return the JSON object; `until` is ISO 8601, UTC."""
    until = lock.until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"device": lock.device, "cause": str(lock.cause), "until": until}
