"""Headers of a decision request that a service could take for headers of the proxy.

attacks: A4, B6
"""

from gateway.http.forward_auth.dialects import OriginalHeaders

_CONFIGURED = b"x-ssl-client-chain-7"
"""Of a family of the list, and not listed: an operator may name such a header for certificates."""


def test_a_header_that_the_edge_reads_is_not_refused() -> None:
    sent = [(_CONFIGURED, b"of the proxy")]
    assert OriginalHeaders(sent, {_CONFIGURED}).unremovable == ()
    assert OriginalHeaders(sent).unremovable == ("x-ssl-client-chain-7",)


def test_another_spelling_of_a_header_of_the_edge_is_refused() -> None:
    sent = [(_CONFIGURED, b"of the proxy"), (b"x_ssl_client_chain_7", b"of the caller")]
    assert OriginalHeaders(sent, {_CONFIGURED}).unremovable == ("x_ssl_client_chain_7",)
