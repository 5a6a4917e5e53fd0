"""The page that a proxy shows for a client certificate which it refuses or misses."""

from gateway.http.certificate_refusal.endpoint import build_certificate_refusal_route
