"""HTTP: from the socket's bytes to one frozen value, and from an answer back to bytes."""
