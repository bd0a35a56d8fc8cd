"""The web server's side of a connection: slow clients hold no thread.

gunicorn's threaded worker gives each request a thread from its first byte to the last byte of its
response, so as many slow clients as there are threads stop the hub. Here one event loop receives
requests and sends what a client has not taken yet; a thread runs the application in between.
"""
