"""The key and the stored text of an authorization code; authorization_codes.py describes them."""

from datetime import UTC, datetime, timedelta
from typing import Final

import orjson

from gateway.domain.sign_in.authorization_codes import AuthorizationCode, CodeName

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def code_key(realm_id: str, name: CodeName) -> str:
    """Return the key of a code."""
    return f"rg:authorization-code:{realm_id}:{name.text}"


def encode_code(code: AuthorizationCode) -> str:
    """Return the stored text, without the code itself."""
    values = (
        *(code.user_id, code.scope, _number(code.issued_at), code.redirect_uri, code.nonce),
        *(code.code_challenge, code.code_challenge_method, code.certificate, code.acr),
        *(_number(code.authenticated_at), code.claims),
        # Left out where there is none: a version without DPoP reads such codes too.
        *(() if code.proof_key is None else (code.proof_key,)),
    )
    return orjson.dumps(values).decode()


def decode_code(name: CodeName, text: str) -> AuthorizationCode:
    """Return a code from its stored text."""
    values = orjson.loads(text)
    user_id, scope, issued_at, redirect_uri, nonce, *rest = values
    challenge, method, certificate, acr, authenticated_at, claims, *last = rest
    return AuthorizationCode(
        name=name,
        user_id=user_id,
        scope=scope,
        issued_at=_EPOCH + issued_at * _MICROSECOND,
        redirect_uri=redirect_uri,
        nonce=nonce,
        code_challenge=challenge,
        code_challenge_method=method,
        certificate=certificate,
        acr=acr,
        authenticated_at=None
        if authenticated_at is None
        else _EPOCH + authenticated_at * _MICROSECOND,
        claims=claims,
        proof_key=last[0] if last else None,
    )


def _number(instant: datetime | None) -> int | None:
    return None if instant is None else (instant - _EPOCH) // _MICROSECOND
