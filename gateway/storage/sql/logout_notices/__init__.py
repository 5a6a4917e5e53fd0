"""The queue of logout notices on SQL."""

from gateway.storage.sql.logout_notices.queue import SqlLogoutNotices
