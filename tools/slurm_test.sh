#!/usr/bin/env bash
# Evaluate as a slurm job.
# usage: slurm_test.sh PARTITION JOB_NAME CONFIG CHECKPOINT [options of test.py]
# Environment: GPUS, GPUS_PER_NODE, CPUS_PER_TASK, SRUN_ARGS, PORT, PYTHON.
set -euo pipefail

help() { sed -n '/^#!/d; /^#/!q; s/^# //p' "${BASH_SOURCE[0]}"; }
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { help; exit; }
[[ $# -ge 4 ]] || { help >&2; exit 2; }
partition="$1"
job="$2"
shift 2
exec bash "$(dirname "${BASH_SOURCE[0]}")/slurm_run.sh" "$partition" "$job" test.py "$@"
