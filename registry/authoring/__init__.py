"""Writing a card: what each field may hold, what is wrong with it, and changing it by field."""
