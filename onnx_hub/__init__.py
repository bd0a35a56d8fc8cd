"""The package `hub` under the name of its distribution: the same objects, as in `onnx_hub.load`.

Another project on PyPI, and one in Debian, has the name `hub` as well, and its installation or
removal can damage ours. Importing this module then raises ImportError with the cure.
"""

import typing

if typing.TYPE_CHECKING:
    from hub import *  # noqa: F403


def _package() -> typing.Any:
    """The package `hub` of this distribution; raises ImportError where it is not there whole."""
    try:
        import hub  # noqa: PLC0415  (which may be that of another project)
    except Exception:  # noqa: BLE001  (whatever that does)
        hub = None  # type: ignore[assignment]
    if getattr(hub, "__distribution__", "") != "onnx-hub":
        raise ImportError(
            "Another project has replaced or removed files of the package hub, which onnx-hub "
            "needs. Run: pip uninstall --yes hub; pip install --force-reinstall --no-deps onnx-hub"
        )
    return hub


_hub = _package()
__all__ = list(_hub.__all__)


def __getattr__(name: str) -> typing.Any:
    return getattr(_hub, name)


def __dir__() -> list[str]:
    return dir(_hub)
