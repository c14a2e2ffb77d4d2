# SPDX-License-Identifier: MIT
"""What scripts/gen-ops.py is made of: the model, reading and checking, one module per kind of output, files."""
