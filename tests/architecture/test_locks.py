"""What is installed is what was pinned, whichever the registry: locks hold hashes, no addresses."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted(ROOT.glob("requirements*.lock"))
PACKAGES = ROOT / "tests/clients/npm/package-lock.json"
_PIN = re.compile(
    r"^[a-z0-9._-]+==\S+( ; .+)? \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", re.MULTILINE
)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_python_lock_is_nothing_but_pins_with_hashes(lock: Path) -> None:
    text = lock.read_text()
    assert _PIN.search(text)
    assert _PIN.sub("", text) == ""


def test_the_npm_lock_has_a_hash_and_no_address_per_package() -> None:
    packages = json.loads(PACKAGES.read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert "node_modules/@keycloak/keycloak-admin-client" in installed
    assert [name for name, package in installed.items() if "integrity" not in package] == []
    assert [name for name, package in installed.items() if "resolved" in package] == []
    # npm notes where authors ask for funding, and asks for nothing there.
    read = [{**package, "funding": None} for package in installed.values()]
    assert "://" not in json.dumps(read)
