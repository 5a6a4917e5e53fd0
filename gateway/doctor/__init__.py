"""The doctor: examines an installation from outside, and says what to change."""
