"""Fleets: hundreds of thousands of products, in shards that are learned one by one, and a store of their policies."""
