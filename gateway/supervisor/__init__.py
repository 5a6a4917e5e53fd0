"""The processes of one gateway: a supervisor that listens, and the workers that answer."""
