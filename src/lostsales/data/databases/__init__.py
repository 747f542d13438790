"""Logs that live in a database, and decisions that go to one: PostgreSQL, SQLite and DuckDB."""
