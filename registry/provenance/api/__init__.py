"""The log over HTTP, as C2SP's tlog-tiles has it, and the proofs of versions."""
