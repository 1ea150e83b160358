#!/usr/bin/env bash
# Evaluate in several processes, one for each GPU: dist_test.sh CONFIG CHECKPOINT PROCESSES [options of test.py]
set -euo pipefail

if [[ $# -lt 3 ]]; then
    echo "usage: $0 CONFIG CHECKPOINT PROCESSES [options of test.py]" >&2
    exit 2
fi
config="$1"
checkpoint="$2"
processes="$3"
shift 3
exec bash "$(dirname "${BASH_SOURCE[0]}")/dist_run.sh" test.py "$processes" "$config" "$checkpoint" "$@"
