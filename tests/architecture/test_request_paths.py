"""The bars on functions and files that one warm request passes, measured by a profiler.

Source: the plan in docs/architecture.md.
"""

from pathlib import Path
from typing import Final, NamedTuple

from tests.support.application_profiles import profile_requests
from tests.support.certificates import Zoo
from tests.support.redis_server import RedisServer


class Bar(NamedTuple):
    """Most functions and files of `gateway/`."""

    functions: int
    files: int


MOST: Final = {
    "client_credentials by mTLS": Bar(150, 50),
    "sign-in to the code": Bar(280, 75),
    "setting of a realm": Bar(300, 80),
    "forward-auth decision": Bar(74, 31),
}
"""They may only go down."""


async def test_a_warm_request_passes_few_functions_and_files(
    tmp_path: Path, certificate_zoo: Zoo, redis_server: RedisServer
) -> None:
    profiles = await profile_requests(tmp_path, certificate_zoo, redis_server.url)
    passed = {name: Bar(len(one.functions), len(one.files)) for name, one in profiles.items()}
    assert passed.keys() == MOST.keys()
    above = {
        name
        for name, bar in MOST.items()
        if passed[name].functions > bar.functions or passed[name].files > bar.files
    }
    assert above == set(), "\n".join(
        f"{name}: {passed[name]}, at most {MOST[name]}\n{profiles[name]}" for name in above
    )
