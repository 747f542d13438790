"""The command line, one file a command and its output."""
