"""Large files in chunks, as hf_xet sends them."""
