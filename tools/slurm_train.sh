#!/usr/bin/env bash
# Train as a slurm job: slurm_train.sh PARTITION JOB_NAME CONFIG [WORK_DIR] [options of train.py]
# Environment: GPUS, GPUS_PER_NODE, CPUS_PER_TASK, SRUN_ARGS, PORT, PYTHON.
set -euo pipefail

if [[ $# -lt 3 ]]; then
    echo "usage: $0 PARTITION JOB_NAME CONFIG [WORK_DIR] [options of train.py]" >&2
    exit 2
fi
partition="$1"
job="$2"
config="$3"
shift 3
if [[ $# -gt 0 && "$1" != -* ]]; then
    set -- --work-dir "$@"
fi
exec bash "$(dirname "${BASH_SOURCE[0]}")/slurm_run.sh" "$partition" "$job" train.py "$config" "$@"
