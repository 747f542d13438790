"""Search for prices and orders on sample paths of demand."""
