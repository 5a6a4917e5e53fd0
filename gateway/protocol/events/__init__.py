"""User events of requests. Keycloak: 10.1 to 10.3."""

from gateway.authentication.certificate_users import certificate_details
from gateway.protocol.events.event_recording import EventRecording
from gateway.protocol.events.lockout_events import device_lock_event, note_refusal
