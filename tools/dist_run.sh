#!/usr/bin/env bash
# What dist_train.sh and dist_test.sh share: start a script of this folder in several processes with torchrun.
# usage: dist_run.sh SCRIPT PROCESSES ARGUMENTS...
# Environment, as in OpenMMLab: PORT, NNODES, NODE_RANK, MASTER_ADDR; PYTHON is the interpreter (default: python).
# Without a GPU the processes train together on the CPU.
set -euo pipefail

help() { sed -n '/^#!/d; /^#/!q; s/^# //p' "${BASH_SOURCE[0]}"; }
[[ "${1:-}" != -h && "${1:-}" != --help ]] || { help; exit; }
[[ $# -ge 2 ]] || { help >&2; exit 2; }

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
python="${PYTHON:-python}"
script="$1"
processes="$2"
shift 2

refuse() {
    echo "error: $1" >&2
    exit 2
}

[[ "$processes" =~ ^[1-9][0-9]*$ ]] || refuse "the number of processes is '$processes': give a whole number from 1"

nodes="${NNODES:-1}"
address="${MASTER_ADDR:-127.0.0.1}"
if [[ "$nodes" == 1 && -z "${PORT:-}" ]]; then
    # torchrun takes a port that is free now: two trainings on one machine do not meet. The address saves it from asking for
    # the machine's name, which not every network answers.
    meeting=(--standalone --local_addr=127.0.0.1)
elif [[ "$nodes" == 1 ]]; then
    meeting=(--nnodes=1 --node_rank=0 --master_addr="$address" --master_port="$PORT")
else
    case "$address" in
        127.* | localhost | ::1)
            refuse "NNODES=$nodes with MASTER_ADDR=$address: each node would wait for itself; set MASTER_ADDR to the first node's address"
            ;;
    esac
    [[ -n "${NODE_RANK:-}" ]] || refuse "NNODES=$nodes without NODE_RANK: set it to 0 on the first node, 1 on the next, ..."
    # The port must be the same on every node.
    meeting=(--nnodes="$nodes" --node_rank="$NODE_RANK" --master_addr="$address" --master_port="${PORT:-29500}")
fi

exec "$python" -m torch.distributed.run "${meeting[@]}" --nproc_per_node="$processes" "$here/$script" "$@" --launcher pytorch
