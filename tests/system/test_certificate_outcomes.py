"""What each kind of certificate is good for behind each proxy: docs/certificate-outcomes.md.

attacks: A6, A7, A8, A9, A14, A19
"""

from collections.abc import Iterator
from typing import Final

import pytest

from scripts import certificate_outcomes_page
from scripts.generated_page import text_above
from scripts.outcomes_table import read_outcomes
from tests.support.certificate_edges import MODES, REASONS, USES, Edge, start_certificate_edges
from tests.support.certificate_kinds import KINDS, make_certificate_kinds
from tests.support.edge_certificates import EdgeCertificates
from tests.support.proxy_process import OTHER_PROXIES

_ROWS: Final = read_outcomes(certificate_outcomes_page.OUTCOMES)
_COLUMNS: Final = [f"{proxy} {mode}" for proxy in ("nginx", *OTHER_PROXIES) for mode in MODES]


@pytest.fixture(scope="module")
def edges(
    edge_certificates: EdgeCertificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Edge]]:
    """Run nginx, HAProxy, Apache, Caddy and Envoy, each in front of a gateway."""
    kinds = make_certificate_kinds(edge_certificates, tmp_path_factory.mktemp("kinds"))
    with start_certificate_edges(kinds) as running:
        yield running


def test_the_table_has_every_certificate_use_proxy_and_mode() -> None:
    assert [(row["use"], row["certificate"]) for row in _ROWS] == [
        (use, kind) for use in USES for kind in KINDS
    ]
    decided = [
        column for column in _COLUMNS if column.startswith("nginx") or column.endswith(" optional")
    ]
    for row in _ROWS:
        expected = decided if row["use"] == "forward-auth" else _COLUMNS
        assert list(row["outcomes"]) == expected


def test_the_page_has_the_same_tables_and_explains_each_reason() -> None:
    page = certificate_outcomes_page
    assert page.PAGE.read_text() == page.page()
    text = text_above(page.PAGE)
    assert [reason for reason in REASONS if f"`{reason}`" not in text] == []


@pytest.mark.parametrize("proxy", ["nginx", *OTHER_PROXIES])
def test_each_certificate_has_the_outcomes_of_the_table(edges: dict[str, Edge], proxy: str) -> None:
    """attacks: A6, A7, A8, A9, A14, A19."""
    found = {
        (column, kind, use): outcome
        for column, edge in edges.items()
        if column.startswith(f"{proxy} ")
        for kind in KINDS
        for use, outcome in edge.outcomes(kind).items()
    }
    assert found == {
        (column, row["certificate"], row["use"]): outcome
        for row in _ROWS
        for column, outcome in row["outcomes"].items()
        if column.startswith(f"{proxy} ")
    }
