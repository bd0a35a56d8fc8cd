"""The pages of webhooks."""
