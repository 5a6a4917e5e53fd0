"""The page that ends the sign-in for a device has a URL of its own, so it may be loaded again."""

from urllib.parse import urlencode

from gateway.http.sign_in.browser_endpoint import BrowserRequest
from gateway.protocol.device_authorization import DeviceResult, verification_uri


def device_status_url(request: BrowserRequest, result: DeviceResult) -> str:
    """Return the URL of the page for a result. Keycloak: 12.9."""
    query = f"?{urlencode({'error': result.value})}" if result.value else ""
    return f"{verification_uri(request.protocol.issuer)}/status{query}"
