"""Reading by git itself: clone and fetch over HTTP (gitprotocol-http, protocols 0 and 2)."""
