"""The commands `hub` and `onnx-hub`, also where another project has damaged the package `hub`."""

import sys


def main() -> int:
    """Run the command; return its exit code, 1 without the package."""
    try:
        import onnx_hub  # noqa: F401, PLC0415  (refuses with the cure)
    except ImportError as error:
        print(f"onnx-hub: {error}", file=sys.stderr)  # noqa: T201  (a command)
        return 1
    from hub.cli import main as run  # noqa: PLC0415  (only where it is ours)

    return run()
