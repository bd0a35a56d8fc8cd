"""What pages say of git."""
