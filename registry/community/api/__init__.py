"""The REST API over discussions, collections, likes and watches."""
