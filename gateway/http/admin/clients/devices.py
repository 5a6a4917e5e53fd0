""".../clients/{id}/device-locks: locks of devices of a client with a certificate template."""

from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, ClientDevices
from gateway.http.admin.operations import Body, Operation, Query, Resource
from gateway.http.admin.requests import document, done

_LOCK = "DeviceLockRepresentation"


def device_operations(devices: ClientDevices, client: str) -> tuple[Operation, ...]:
    """Return every row about devices; `client` is the URL of one."""
    rows = Resource(f"{client}/device-locks", "Devices of clients", VIEW_CLIENTS, MANAGE_CLIENTS)
    return (
        rows.get(
            "",
            "List the locked devices of a client",
            lambda r: document(devices.list(r.acting, r.path["client_id"])),
            returns=f"[{_LOCK}]",
        ),
        rows.post(
            "",
            "Lock a device of a client for some time",
            lambda r: document(devices.lock(r.acting, r.path["client_id"], r.body)),
            body=Body(_LOCK),
            returns=_LOCK,
            status=200,
        ),
        rows.delete(
            "",
            "Unlock a device of a client",
            lambda r: done(
                devices.unlock(r.acting, r.path["client_id"], r.query.get("device") or "")
            ),
            query=(Query("device", summary="The whole name of the device in its certificate"),),
        ),
    )
