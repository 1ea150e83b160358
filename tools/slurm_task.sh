#!/usr/bin/env bash
# One task of a slurm job: tell torch where the first task listens, then run the script.
# usage: slurm_task.sh SCRIPT ARGUMENTS...
# Everything comes from slurm's variables, since scontrol is often missing inside a container.
set -euo pipefail

help() { sed -n '/^#!/d; /^#/!q; s/^# //p' "${BASH_SOURCE[0]}"; }
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { help; exit; }
[[ $# -ge 1 ]] || { help >&2; exit 2; }

# The first name in a list like node[003-005,7],other: its brackets become their first number.
first_host() {
    local list="$1"
    while [[ "$list" =~ ^([^][]*)\[([^],-]+)[^]]*\](.*)$ ]]; do
        list="${BASH_REMATCH[1]}${BASH_REMATCH[2]}${BASH_REMATCH[3]}"
    done
    echo "${list%%,*}"
}

nodes="${SLURM_STEP_NODELIST:-${SLURM_JOB_NODELIST:?is not set: start this with slurm_train.sh or slurm_test.sh}}"
MASTER_ADDR="$(first_host "$nodes")" # whatever the image presets
# Another port for each job and step, below those that systems give out by themselves.
MASTER_PORT="${PORT:-$((10000 + (${SLURM_JOB_ID:?is not set} + ${SLURM_STEP_ID:-0}) % 20000))}"
export MASTER_ADDR MASTER_PORT

exec "${PYTHON:-python}" -u "$@"
