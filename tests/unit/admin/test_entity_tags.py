"""A change is refused where its caller knew another state. Spec: RFC 9110 §13.1.1 (If-Match)."""

import pytest

from gateway.admin.changes import entity_tag, require_match
from gateway.domain.refusals import PreconditionFailed

DOCUMENT = {"name": "a", "attributes": {"x": ["1"]}}
TAG = entity_tag(DOCUMENT)


@pytest.mark.parametrize("header", [None, "*", " * ", TAG, f' {TAG} , "other"', f'"other",{TAG}'])
def test_who_knows_the_state_or_asks_for_none_may_change_it(header: str | None) -> None:
    require_match(header, DOCUMENT)


@pytest.mark.parametrize("header", ["", '"other"', TAG.strip('"'), f"W/{TAG}", "**", TAG.upper()])
def test_who_knows_another_state_may_not(header: str) -> None:
    with pytest.raises(PreconditionFailed):
        require_match(header, DOCUMENT)
