"""The page of an organisation's trusted publishers."""
