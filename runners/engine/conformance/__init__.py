"""Conformance of runtimes: one model's checks, and the operator suite."""

from typing import Final

# Version of the procedure; results of another one are not shared.
# 2: faults of the graph optimiser, overflow in half precision, masks of whole rows.
# 3: batch normalization of opsets 7 to 13 and pooling of signals in the reference.
METHOD: Final = 3
