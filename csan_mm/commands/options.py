"""Options that several commands have; the same word means the same in all."""

import argparse


def add_cfg_options(parser: argparse.ArgumentParser) -> None:
    """``--cfg-options``, as OpenMMLab has it."""
    parser.add_argument(
        "--cfg-options",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help='override settings of the config, e.g. train_dataloader.batch_size=2 key="[a,b]" key=a,b; quote '
        "brackets, write no spaces inside a value",
    )


def add_trust(parser: argparse.ArgumentParser) -> None:
    """``--trust``."""
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """What means the same in training and testing."""
    parser.add_argument("--work-dir", help="where logs and results go (default: ./work_dirs/<name of the config>)")
    add_cfg_options(parser)
    add_trust(parser)
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="print all that the log file has: config, environment, hooks, rates by parameter, other packages' notices",
    )
    parser.add_argument(
        "--launcher", choices=["none", "pytorch", "slurm", "mpi"], default="none", help="job launcher (default: none)"
    )
    # torch.distributed.launch passes --local-rank, its old versions --local_rank.
    parser.add_argument("--local_rank", "--local-rank", type=int, default=0, help=argparse.SUPPRESS)


def at_least_one(text: str) -> int:
    """A whole number from 1, as an option's ``type``."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: take a whole number from 1")
    return number
