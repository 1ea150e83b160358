#!/usr/bin/env bash
# Train in several processes, one for each GPU.
# usage: dist_train.sh CONFIG PROCESSES [options of train.py]
set -euo pipefail

help() { sed -n '/^#!/d; /^#/!q; s/^# //p' "${BASH_SOURCE[0]}"; }
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { help; exit; }
[[ $# -ge 2 ]] || { help >&2; exit 2; }
config="$1"
processes="$2"
shift 2
exec bash "$(dirname "${BASH_SOURCE[0]}")/dist_run.sh" train.py "$processes" "$config" "$@"
