"""What pages say of the transparency log and of attestations."""
