"""The command-line options train.py and test.py share; standard library only, so that ``-h`` answers at once.

``mim`` runs ``train.py -h`` before every training, and importing torch for that would take seconds.
"""

import argparse
import os


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Options that mean the same in training and testing."""
    parser.add_argument("--work-dir", help="where logs and results go (default: ./work_dirs/<name of the config>)")
    parser.add_argument(
        "--cfg-options",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help='override settings of the config, e.g. train_dataloader.batch_size=2 key="[a,b]" key=a,b; quote '
        "brackets, write no spaces inside a value",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="unpickle checkpoints that cannot be read otherwise, which runs the code in them",
    )
    parser.add_argument(
        "--launcher", choices=["none", "pytorch", "slurm", "mpi"], default="none", help="job launcher (default: none)"
    )
    # torch.distributed.launch passes --local-rank, its old versions --local_rank.
    parser.add_argument("--local_rank", "--local-rank", type=int, default=0, help=argparse.SUPPRESS)


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the command line, and let mmengine find the local rank where it looks for it."""
    args = parser.parse_args()
    os.environ.setdefault("LOCAL_RANK", str(args.local_rank))
    return args
