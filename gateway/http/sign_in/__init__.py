"""Signing in with a browser: endpoints, cookies and pages."""
