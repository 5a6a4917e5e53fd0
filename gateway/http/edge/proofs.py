"""The header `DPoP`, and the request that its proof has to name. Spec: RFC 9449 §4.3."""

from collections.abc import Iterable
from urllib.parse import quote, urlsplit

from gateway.domain.dpop_proofs import NO_PROOF, SentProof
from gateway.http.edge.facts import EdgeFacts
from gateway.http.edge.headers import DPOP


def sent_proof(facts: EdgeFacts, addresses: Iterable[str]) -> SentProof:
    """Return the proof of a request to the gateway, which clients reach at `addresses`.

    The path may have been sent below the path of the address, or the proxy may have removed that.
    """
    text = facts.headers.text(DPOP)
    if text is None:
        return NO_PROOF
    path = facts.path.decode("ascii") if facts.path.isascii() else quote(facts.path, safe="/%")
    urls = (url for base in addresses for url in (f"{base}{path}", f"{_origin(base)}{path}"))
    return SentProof(_once(facts, text), facts.method, tuple(dict.fromkeys(urls)))


def _once(facts: EdgeFacts, text: str) -> str:
    """Return the text, empty where the header was sent twice. Spec: RFC 9449 §4.3, number 1."""
    return "" if facts.headers.ambiguous == DPOP else text


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
