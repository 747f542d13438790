"""Orders by sampled futures: demand whose level moves, and a roll-out of order-up-to rules on it."""
