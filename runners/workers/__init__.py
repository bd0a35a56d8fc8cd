"""Workers: what they poll for, and doing a claimed job from its files to its end."""
