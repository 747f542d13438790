"""C-FQI, PC-FQI and fusion: fitted Q-iteration with one Q-function per depth."""
