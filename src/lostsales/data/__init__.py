"""The sales log: reading, validation, timing, balance and profit."""
