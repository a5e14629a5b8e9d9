#!/bin/sh
# What CI runs in the app's repository. It fails where more is asked than somebody has let through, and where the
# code is of another registry.
set -e
confetti metrics check --registry counts/confetti.registry.json "$@"
confetti metrics code --registry counts/confetti.registry.json --go counts/counts.go --check
