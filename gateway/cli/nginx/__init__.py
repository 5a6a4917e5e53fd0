"""nginx's configuration for this machine."""

from gateway.cli.nginx.render import nginx
from gateway.cli.nginx.site import SHIPPED, SITE, NginxSite, PlainHttp, render_nginx

__all__ = ["SHIPPED", "SITE", "NginxSite", "PlainHttp", "nginx", "render_nginx"]
