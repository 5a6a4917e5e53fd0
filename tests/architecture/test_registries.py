"""One new file plus one line: each kind in its folder is registered, documented and tested."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.http.edge.certificate_lookup import LOOKUPS
from gateway.policies import POLICIES
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.client_authentication import METHODS
from gateway.protocol.grants import GRANTS
from gateway.settings import CERTIFICATE_LOOKUPS

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Registry:
    """A folder, the table of its kinds, and the modules in it that several kinds share."""

    package: str
    entries: Mapping[str, object]
    shared: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        """Return where the files stand."""
        return ROOT / self.package.replace(".", "/")

    def modules(self) -> set[str]:
        """Return the modules that must be registered."""
        return {path.stem for path in self.folder.glob("*.py")} - {"__init__"} - self.shared


REGISTRIES = {
    "grants": Registry("gateway.protocol.grants", GRANTS),
    "client authentication": Registry(
        "gateway.protocol.client_authentication", METHODS, frozenset({"basic_credentials"})
    ),
    "claim mappers": Registry(
        "gateway.protocol.claims", CLAIM_MAPPERS, frozenset({"audiences", "subject"})
    ),
    "password rules": Registry(
        "gateway.policies", {rule.name: rule for rule in POLICIES}, frozenset({"candidate"})
    ),
    "certificate lookups": Registry("gateway.http.edge.certificate_lookup", LOOKUPS),
}


@pytest.fixture(params=REGISTRIES, name="registry")
def each_registry(request: pytest.FixtureRequest) -> Registry:
    """Give each registry in turn."""
    return REGISTRIES[request.param]


def test_every_file_of_a_folder_of_kinds_is_registered(registry: Registry) -> None:
    registered = {_module_of(entry).rpartition(".")[2] for entry in registry.entries.values()}
    assert registered == registry.modules()


def test_every_kind_is_documented(registry: Registry) -> None:
    assert _absent(registry.entries, (ROOT / "docs").glob("*.md")) == set()


def test_every_kind_is_tested(registry: Registry) -> None:
    tests = (path for path in (ROOT / "tests").rglob("*.py") if "architecture" not in path.parts)
    assert _absent(registry.entries, tests) == set()


def test_the_settings_offer_every_certificate_lookup() -> None:
    assert set(CERTIFICATE_LOOKUPS) == set(LOOKUPS)


def _absent(names: Iterable[str], files: Iterable[Path]) -> set[str]:
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return {name for name in names if f"`{name}`" not in text and f'"{name}"' not in text}


def _module_of(entry: object) -> str:
    module: str = entry.__module__
    return module
