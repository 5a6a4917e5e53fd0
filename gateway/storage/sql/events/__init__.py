"""User events and admin events in SQL."""

from gateway.storage.sql.events.admin_events import SqlAdminEvents
from gateway.storage.sql.events.user_events import SqlUserEvents
