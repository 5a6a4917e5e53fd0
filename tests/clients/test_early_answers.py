"""What is refused before its body has come is heard by the client, through the proxy.

Every client renews its token upon a 401, and upon nothing else.
"""

from collections import Counter

import pytest

from tests.support.administered_server import AdministeredServer

REQUESTS = 100


@pytest.mark.parametrize("size", [1, 30_000], ids=["a small body", "a large one"])
def test_no_early_answer_is_lost(administered: AdministeredServer, size: int) -> None:
    heard = Counter(
        administered.http.put(
            f"{administered.url}/admin/realms/master",
            headers={"Authorization": "Bearer expired"},
            json={"displayName": "x" * size},
        ).status_code
        for _ in range(REQUESTS)
    )
    assert heard == {401: REQUESTS}
