"""What is known of models over HTTP, for programs."""
