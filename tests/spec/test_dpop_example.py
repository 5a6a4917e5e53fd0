"""The DPoP example proves its key to a real gateway. Spec: RFC 9449 §4.2, §7.1.

Source: docs/clients-with-certificates.md
"""

import importlib.util
from pathlib import Path

import pytest

from tests.support.spec_stack import Stack, protocol
from tests.support.wire import SECRET

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/examples/dpop_client.py"


def test_the_example_gets_a_bound_token_and_uses_it(
    spec: Stack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    loaded = importlib.util.spec_from_file_location("dpop_client", EXAMPLE)
    assert loaded is not None
    assert loaded.loader is not None
    example = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(example)
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    realm = protocol("dpop").removesuffix("/protocol/openid-connect")
    monkeypatch.setenv("ISSUER", f"{spec.nginx.https}{realm}")
    monkeypatch.setenv("CLIENT_ID", "bound-svc")
    monkeypatch.setenv("CLIENT_SECRET_FILE", str(secret))
    monkeypatch.setenv("SSL_CERT_FILE", str(spec.certificates.folder / "ca.crt"))
    example.main()
    printed = capsys.readouterr().out
    assert "token_type DPoP" in printed
    assert "service-account-bound-svc" in printed
