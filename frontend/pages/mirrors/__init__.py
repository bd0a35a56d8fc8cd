"""What pages say of mirrors."""
