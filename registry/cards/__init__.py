"""Model cards: reading, checking and editing them, and what the names in them mean."""
