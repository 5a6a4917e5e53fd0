"""Logout in a browser, and the frames by which clients watch a session."""
