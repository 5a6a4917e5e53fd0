"""Fixtures of every test: the modules that start the real parts."""

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins: list[str] = [
    "tests.support.finished_fixtures",
    "tests.support.garbage_collection",
    "tests.support.time_limit",
    "tests.support.certificates",
    "tests.support.nginx",
    "tests.support.nginx_front",
    "tests.support.gateway_process",
    "tests.support.wire",
    "tests.support.administration",
    "tests.support.made_realms",
    "tests.support.scoped_realm",
    "tests.support.protected_sites",
    "tests.support.guarding_proxies",
    "tests.support.signing_keys",
    "tests.support.postgres",
    "tests.support.redis_server",
    "tests.support.storage",
    "tests.support.event_journals",
    "tests.support.sessions",
    "tests.support.realm_imports",
    "tests.support.spec_stack",
    "tests.support.administered_server",
    "tests.support.ansible",
    "tests.support.python_keycloak",
    "tests.support.relying_parties",
    "tests.support.timed_gateway",
]


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Run asynchronous tests on the product's own event loop."""
    return "asyncio", {"use_uvloop": True}


_UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("bounded", _UNHURRIED, max_examples=50)
# `--hypothesis-profile=thorough` before a release, and for a property that is new.
settings.register_profile("thorough", _UNHURRIED, max_examples=1_000)
settings.load_profile("bounded")
