#!/usr/bin/env bash
# What slurm_train.sh and slurm_test.sh share: start a script of this folder as the tasks of a slurm job.
# usage: slurm_run.sh PARTITION JOB_NAME SCRIPT ARGUMENTS...
# Environment, as in OpenMMLab: GPUS (default 8), GPUS_PER_NODE (8), CPUS_PER_TASK (5), SRUN_ARGS; PYTHON is the interpreter.
set -euo pipefail

help() { sed -n '/^#!/d; /^#/!q; s/^# //p' "${BASH_SOURCE[0]}"; }
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { help; exit; }
[[ $# -ge 3 ]] || { help >&2; exit 2; }

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
partition="$1"
job="$2"
script="$3"
shift 3

gpus="${GPUS:-8}"
per_node="${GPUS_PER_NODE:-8}"
if ((gpus < per_node)); then
    per_node="$gpus"
fi
read -r -a more <<<"${SRUN_ARGS:-}"

exec srun \
    --partition="$partition" \
    --job-name="$job" \
    --gres="gpu:$per_node" \
    --ntasks="$gpus" \
    --ntasks-per-node="$per_node" \
    --cpus-per-task="${CPUS_PER_TASK:-5}" \
    --kill-on-bad-exit=1 \
    ${more[@]+"${more[@]}"} \
    bash "$here/slurm_task.sh" "$here/$script" "$@" --launcher slurm
