"""A web application on Authlib's integration with Starlette: a relying party in its users' way.

Each client has a part of it, below a path of its name, with pages of its own and its own cookie:

    ISSUER=... APPLICATION_URL=https://localhost:9000 CLIENTS='{"shop": {...}}' \
        hypercorn 'tests.support.authlib_application:from_environment()'

CLIENTS has `secret` or the `jwk` of a private key, by client id. Tokens stay on the server, by the
session of the provider, so that a logout token or a frame of the provider ends them.
Spec: OpenID Connect Back-Channel Logout §2.6, Front-Channel Logout §2
"""

import json
import os
from typing import Any, Final
from urllib.parse import parse_qs

from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
_ALGORITHMS: Final = ["RS256"]


class Client:
    """The pages of one client, and the tokens of its users."""

    def __init__(self, issuer: str, client_id: str, url: str, settings: dict[str, Any]) -> None:
        self._client_id, self._url = client_id, url
        self._tokens: dict[str, dict[str, Any]] = {}
        method = "private_key_jwt" if "jwk" in settings else "client_secret_basic"
        self._provider = OAuth().register(
            client_id,
            client_id=client_id,
            client_secret=ECKey.import_key(settings["jwk"])
            if "jwk" in settings
            else settings["secret"],
            client_auth_methods=[PrivateKeyJWT(alg="ES256")],
            server_metadata_url=f"{issuer}/.well-known/openid-configuration",
            client_kwargs={
                "scope": "openid email",
                "code_challenge_method": "S256",
                "token_endpoint_auth_method": method,
            },
            update_token=self._store_refreshed,
        )

    def routes(self) -> list[Route]:
        return [
            Route("/", self._home),
            Route("/callback", self._callback),
            Route("/token", self._token),
            Route("/userinfo", self._userinfo),
            Route("/sign-out", self._sign_out),
            Route("/signed-out", self._signed_out),
            Route("/front-channel-logout", self._front_channel_logout),
            Route("/back-channel-logout", self._back_channel_logout, methods=["POST"]),
        ]

    async def _home(self, request: Request) -> Response:
        token = self._find(request)
        if token is None:
            redirect: Response = await self._provider.authorize_redirect(
                request, f"{self._url}/callback"
            )
            return redirect
        return HTMLResponse(f'<p id="user">{token["userinfo"]["preferred_username"]}</p>')

    async def _callback(self, request: Request) -> Response:
        try:
            token = await self._provider.authorize_access_token(request)
        except OAuthError as error:
            return JSONResponse({"error": error.error}, 400)
        session = token["userinfo"]["sid"]
        self._tokens[session] = token
        request.session["sid"] = session
        return RedirectResponse(f"{self._url}/", 303)

    async def _token(self, request: Request) -> Response:
        """Answer with what the application keeps of the browser, 401 without a session."""
        token = self._find(request)
        return Response(status_code=401) if token is None else JSONResponse(token)

    async def _userinfo(self, request: Request) -> Response:
        """Ask the provider; `expired` lets Authlib find the access token expired before."""
        token = self._find(request)
        if token is None:
            return Response(status_code=401)
        if "expired" in request.query_params:
            token["expires_at"] = 1
        return JSONResponse(await self._provider.userinfo(token=token))

    async def _store_refreshed(
        self, token: dict[str, Any], refresh_token: str = "", access_token: str = ""
    ) -> None:
        """Take new tokens of Authlib, which has used `refresh_token`."""
        del access_token
        (old,) = [each for each in self._tokens.values() if each["refresh_token"] == refresh_token]
        old.update(token)

    async def _sign_out(self, request: Request) -> Response:
        token = self._find(request)
        request.session.clear()
        if token is None:
            return RedirectResponse(f"{self._url}/signed-out", 303)
        self._tokens.pop(token["userinfo"]["sid"])
        redirect: Response = await self._provider.logout_redirect(
            request, f"{self._url}/signed-out", id_token_hint=token["id_token"]
        )
        return redirect

    async def _signed_out(self, request: Request) -> Response:
        await self._provider.validate_logout_response(request)
        return HTMLResponse("<h1>Goodbye</h1>")

    async def _front_channel_logout(self, request: Request) -> Response:
        metadata = await self._provider.load_server_metadata()
        if request.query_params["iss"] != metadata["issuer"]:
            return Response(status_code=400)
        self._tokens.pop(request.query_params["sid"], None)
        return Response(headers={"Cache-Control": "no-store"})

    async def _back_channel_logout(self, request: Request) -> Response:
        metadata = await self._provider.load_server_metadata()
        keys = KeySet.import_key_set(await self._provider.fetch_jwk_set(force=True))
        rules = jwt.JWTClaimsRegistry(
            leeway=10,
            iss={"essential": True, "value": metadata["issuer"]},
            aud={"essential": True, "value": self._client_id},
            exp={"essential": True},
            jti={"essential": True},
        )
        form = parse_qs((await request.body()).decode())
        try:
            found = jwt.decode(form["logout_token"][0], keys, algorithms=_ALGORITHMS)
            rules.validate(found.claims)
        except JoseError as error:
            return JSONResponse({"error": str(error)}, 400)
        if _EVENT not in found.claims["events"] or "nonce" in found.claims:
            return JSONResponse({"error": "no logout token"}, 400)
        self._tokens.pop(found.claims["sid"], None)
        return Response(headers={"Cache-Control": "no-store"})

    def _find(self, request: Request) -> dict[str, Any] | None:
        return self._tokens.get(request.session.get("sid", ""))


def from_environment() -> Starlette:
    """Return the application as the environment says."""
    url, clients = os.environ["APPLICATION_URL"], json.loads(os.environ["CLIENTS"])
    return Starlette(
        routes=[
            Mount(
                f"/{client_id}",
                routes=Client(
                    os.environ["ISSUER"], client_id, f"{url}/{client_id}", settings
                ).routes(),
                middleware=[
                    Middleware(
                        SessionMiddleware,
                        secret_key="known to this test alone",
                        session_cookie=f"session_of_{client_id}",
                        path=f"/{client_id}",
                        https_only=True,
                    )
                ],
            )
            for client_id, settings in clients.items()
        ]
    )
