"""Facts about files of drafts."""
