"""Pages by capability: views, forms, and what only they show."""
