"""What may be promised: doubts about the log and the figures, their sensitivity to hidden causes, and the advice."""
