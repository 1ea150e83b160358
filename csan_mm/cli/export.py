"""A trained model as a file for other runtimes, as tools/export_model.py starts it."""

import argparse
from pathlib import Path

from csan_mm.checkpoint.export import ExportError, TensorOutputs, export_onnx, export_program
from csan_mm.cli.errors import error_border
from csan_mm.cli.models import load_model
from csan_mm.common.config import merge_options, read_config
from csan_mm.common.errors import UserError


def run(args: argparse.Namespace) -> None:
    """Write the backbone, or the whole model up to its raw outputs, as ``args.out``.

    Args:
        args: What tools/export_model.py parsed: ``config``, ``checkpoint``, ``out``, ``part``, ``opset``, ``cfg_options``,
            ``trust``.

    Raises:
        SystemExit: With one sentence on stderr, where a user can mend the cause; no file is left then.
    """
    with error_border(args.config):
        suffix = Path(args.out).suffix
        if suffix not in (".onnx", ".pt2"):
            raise UserError(f"{args.out}: take a name that ends in .onnx, or in .pt2 for torch.export", exit_code=2)
        cfg = read_config(args.config)
        merge_options(cfg, args.cfg_options)
        model, _ = load_model(cfg, args.checkpoint, args.trust)
        try:
            network = model.backbone if args.part == "backbone" else TensorOutputs(model)
            if suffix == ".onnx":
                difference = export_onnx(network, args.out, opset=args.opset)
            else:
                difference = export_program(network, args.out)
        except (ExportError, ImportError) as error:
            raise UserError(str(error)) from error
    megabytes = Path(args.out).stat().st_size / 2**20
    print(f"wrote {args.out} ({megabytes:.1f} MiB); largest difference {difference:.1e} of the largest value")
