"""Registered certificate authorities on SQL."""

from gateway.storage.sql.authorities.repository import SqlAuthorities
