"""What stock-outs hide."""
