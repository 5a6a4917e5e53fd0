"""The device of a session: browser and operating system by the header User-Agent.

It is for the list of the user's own devices; no decision depends on it. Keycloak: 17.3
"""

import json
import re
from dataclasses import asdict, dataclass
from typing import Final

DEVICE_NOTE: Final = "KC_DEVICE_NOTE"
"""The note of a user session."""
OTHER: Final = "Other"
UNKNOWN: Final = "Unknown"
_LONGEST: Final = 512
"""Characters of a header that is read. Keycloak: 17.3"""
_VERSION: Final = r"([0-9]{1,5}(?:[._][0-9]{1,5}){0,2})"
"""At most three numbers, as Keycloak shows them."""
_SYSTEMS: Final = (
    ("Windows", re.compile(r"Windows NT ?([0-9]{1,3}(?:\.[0-9]{1,3})?)")),
    ("iOS", re.compile(rf"(?:iPhone|iPad|iPod)[^)]*? OS {_VERSION}")),
    ("Mac OS X", re.compile(rf"Mac OS X {_VERSION}")),
    ("Android", re.compile(rf"Android {_VERSION}")),
    ("Chrome OS", re.compile(rf"CrOS \w+ {_VERSION}")),
    ("Ubuntu", re.compile(rf"Ubuntu(?:/{_VERSION})?")),
    ("Linux", re.compile(r"Linux()")),
)
"""The first that is found counts."""
_BROWSERS: Final = (
    ("Edge", re.compile(rf"Edg(?:e|A|iOS)?/{_VERSION}")),
    ("Opera", re.compile(rf"OPR/{_VERSION}")),
    ("Samsung Internet", re.compile(rf"SamsungBrowser/{_VERSION}")),
    ("Firefox iOS", re.compile(rf"FxiOS/{_VERSION}")),
    ("Firefox", re.compile(rf"Firefox/{_VERSION}")),
    ("Chrome Mobile iOS", re.compile(rf"CriOS/{_VERSION}")),
    ("Chrome Mobile", re.compile(rf"Chrome/{_VERSION}[0-9.]* Mobile")),
    ("Chrome", re.compile(rf"(?:Headless)?Chrome/{_VERSION}")),
    ("Mobile Safari", re.compile(rf"Version/{_VERSION} Mobile/\w+ Safari")),
    ("Safari", re.compile(rf"Version/{_VERSION} Safari")),
    ("curl", re.compile(rf"curl/{_VERSION}")),
)
_DEVICES: Final = (("iPhone", "iPhone"), ("iPad", "iPad"), ("Mac", "Macintosh"))
_WINDOWS: Final = {"6.1": "7", "6.2": "8", "6.3": "8.1", "10.0": "10"}
"""Numbers of versions and their usual names."""


@dataclass(frozen=True, slots=True)
class Device:
    """A browser on a system; `browser` is its name and version, such as `Firefox/121.0`."""

    system: str = OTHER
    system_version: str = UNKNOWN
    browser: str = f"{OTHER}/{UNKNOWN}"
    device: str = OTHER
    mobile: bool = False


NO_DEVICE: Final = Device()


def device_of(user_agent: str) -> Device:
    """Return the device of a header; what is not found is `Other` and `Unknown`."""
    if not user_agent or len(user_agent) > _LONGEST:
        return NO_DEVICE
    system, version = _first(_SYSTEMS, user_agent)
    browser, browser_version = _first(_BROWSERS, user_agent)
    if system == "Windows":
        version = _WINDOWS.get(version, version)
    return Device(
        system,
        version,
        f"{browser}/{browser_version}",
        next((name for name, word in _DEVICES if word in user_agent), OTHER),
        "mobile" in user_agent.lower(),
    )


def device_notes(user_agent: str) -> dict[str, str]:
    """Return the note of a session that begins; none for a header without any."""
    device = device_of(user_agent)
    if device == NO_DEVICE:
        return {}
    return {DEVICE_NOTE: json.dumps(asdict(device), separators=(",", ":"))}


def noted_device(note: str | None) -> Device:
    """Return the device of a note; an unknown one where there is none that can be read."""
    try:
        return Device(**json.loads(note)) if note else NO_DEVICE
    except (ValueError, TypeError):
        return NO_DEVICE


def _first(patterns: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> tuple[str, str]:
    for name, pattern in patterns:
        found = pattern.search(text)
        if found is not None:
            return name, (found.group(1) or UNKNOWN).replace("_", ".")
    return OTHER, UNKNOWN
