"""Fleets: products by the hundred thousand, in shards that are learned one by one, and a store of their policies."""
