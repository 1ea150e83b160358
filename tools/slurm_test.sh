#!/usr/bin/env bash
# Evaluate as a slurm job: slurm_test.sh PARTITION JOB_NAME CONFIG CHECKPOINT [options of test.py]
# Environment: GPUS, GPUS_PER_NODE, CPUS_PER_TASK, SRUN_ARGS, PORT, PYTHON.
set -euo pipefail

if [[ $# -lt 4 ]]; then
    echo "usage: $0 PARTITION JOB_NAME CONFIG CHECKPOINT [options of test.py]" >&2
    exit 2
fi
partition="$1"
job="$2"
shift 2
exec bash "$(dirname "${BASH_SOURCE[0]}")/slurm_run.sh" "$partition" "$job" test.py "$@"
