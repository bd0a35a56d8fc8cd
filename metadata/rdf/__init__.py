"""Terms, IRIs and quads."""
