"""Real parts for tests: servers, certificates, stores."""
