"""Protected sites on SQL."""

from gateway.storage.sql.forward_auth.sites import SqlSites
