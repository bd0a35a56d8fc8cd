"""Methods that an address answers."""

METHODS = ("get", "post", "put", "patch", "delete")


def methods_of(view):
    """Those that the address maps to operations of a set, or those of the view's class."""
    names = getattr(view, "actions", None) or dir(getattr(view, "cls", None))
    return [name for name in METHODS if name in names]
