"""Task "convert": a model in another precision, made by the runtime's own tools and measured.

The original is run first; then the variant is loaded, described and compared with it. The loss of
accuracy is a figure of the report. Only a variant below the floor of `parity` fails.
"""

from typing import Final

# Version of the procedure; results of another one are not shared.
# 2: half precision is judged by ranges and by the reference.
METHOD: Final = 2
