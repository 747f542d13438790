"""A first problem file from a table: what its columns seem to be, by name and by content."""
