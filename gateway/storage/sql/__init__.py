"""The durable store: SQLite by default, PostgreSQL by URL, one behaviour on both."""
