"""The kinds of proxies that ask for decisions: one file each."""

from typing import Final

from gateway.http.forward_auth.dialects.apache import Apache
from gateway.http.forward_auth.dialects.caddy import Caddy
from gateway.http.forward_auth.dialects.dialect import Dialect
from gateway.http.forward_auth.dialects.envoy import Envoy
from gateway.http.forward_auth.dialects.haproxy import Haproxy
from gateway.http.forward_auth.dialects.nginx import Nginx
from gateway.http.forward_auth.dialects.traefik import Traefik

DIALECTS: Final[tuple[type[Dialect], ...]] = (Nginx, Traefik, Caddy, Haproxy, Apache, Envoy)
"""Every dialect; its URL is `/.realmgate/guard/` and its name."""
