"""Pages of sign-up, mail, second factors and sessions, by django-allauth; the security log."""
