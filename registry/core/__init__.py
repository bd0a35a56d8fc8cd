"""What every part of the registry uses: events, permissions, laws of the database, limits."""
