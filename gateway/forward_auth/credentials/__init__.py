"""The credentials of callers, a file each: from evidence to an identity, or a refusal."""
