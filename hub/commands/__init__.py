"""What a user of hubs does in a terminal: a module for each kind of command."""
