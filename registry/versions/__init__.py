"""Models and their versions: files, states, refs, branches, git history."""
