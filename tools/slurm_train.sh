#!/usr/bin/env bash
# Train as a slurm job.
# usage: slurm_train.sh PARTITION JOB_NAME CONFIG [WORK_DIR] [options of train.py]
# Environment: GPUS, GPUS_PER_NODE, CPUS_PER_TASK, SRUN_ARGS, PORT, PYTHON.
set -euo pipefail

help() { sed -n '/^#!/d; /^#/!q; s/^# //p' "${BASH_SOURCE[0]}"; }
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { help; exit; }
[[ $# -ge 3 ]] || { help >&2; exit 2; }
partition="$1"
job="$2"
config="$3"
shift 3
if [[ $# -gt 0 && "$1" != -* ]]; then
    set -- --work-dir "$@"
fi
exec bash "$(dirname "${BASH_SOURCE[0]}")/slurm_run.sh" "$partition" "$job" train.py "$config" "$@"
