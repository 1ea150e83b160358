#!/usr/bin/env bash
# Train in several processes, one for each GPU: dist_train.sh CONFIG PROCESSES [options of train.py]
set -euo pipefail

if [[ $# -lt 2 ]]; then
    echo "usage: $0 CONFIG PROCESSES [options of train.py]" >&2
    exit 2
fi
config="$1"
processes="$2"
shift 2
exec bash "$(dirname "${BASH_SOURCE[0]}")/dist_run.sh" train.py "$processes" "$config" "$@"
