#!/usr/bin/env bash
# What dist_train.sh and dist_test.sh share: start a script of this folder in several processes with torchrun.
#   dist_run.sh SCRIPT PROCESSES ARGUMENTS...
# Environment, as in OpenMMLab: PORT, NNODES, NODE_RANK, MASTER_ADDR; PYTHON is the interpreter (default: python).
# Without a GPU the processes train together on the CPU.
set -euo pipefail

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
if [[ "$nodes" == 1 ]]; then
    # A port that is free now; two trainings on one machine do not meet.
    port="${PORT:-$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}"
else
    case "$address" in
        127.* | localhost | ::1)
            refuse "NNODES=$nodes with MASTER_ADDR=$address: each node would wait for itself; set MASTER_ADDR to the first node's address"
            ;;
    esac
    [[ -n "${NODE_RANK:-}" ]] || refuse "NNODES=$nodes without NODE_RANK: set it to 0 on the first node, 1 on the next, ..."
    port="${PORT:-29500}" # the same on every node
fi

exec "$python" -m torch.distributed.run \
    --nnodes="$nodes" \
    --node_rank="${NODE_RANK:-0}" \
    --nproc_per_node="$processes" \
    --master_addr="$address" \
    --master_port="$port" \
    "$here/$script" "$@" --launcher pytorch
