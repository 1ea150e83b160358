#!/usr/bin/env bash
# Evaluate in several processes, one for each GPU.
# usage: dist_test.sh CONFIG CHECKPOINT PROCESSES [options of test.py]
set -euo pipefail

help() { sed -n '/^#!/d; /^#/!q; s/^# //p' "${BASH_SOURCE[0]}"; }
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { help; exit; }
[[ $# -ge 3 ]] || { help >&2; exit 2; }
config="$1"
checkpoint="$2"
processes="$3"
shift 3
exec bash "$(dirname "${BASH_SOURCE[0]}")/dist_run.sh" test.py "$processes" "$config" "$checkpoint" "$@"
