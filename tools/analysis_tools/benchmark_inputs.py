"""WeightFormer and DeiT side by side over image sizes: images per second and memory per image, a table and a picture.

python tools/analysis_tools/benchmark_inputs.py [--arch tiny] [--sizes 224 448 ...] [--train] [--out benchmark.png]
"""

import argparse
from pathlib import Path


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare WeightFormer with DeiT over image sizes")
    parser.add_argument("--arch", choices=["tiny", "small"], default="tiny", help="width of both (default: tiny)")
    parser.add_argument(
        "--sizes", nargs="+", type=int, metavar="SIDE", help="sides of the images (default: 224 to 1248)"
    )
    parser.add_argument("--batch-size", type=int, default=1, help="images at a time (default: 1)")
    parser.add_argument("--train", action="store_true", help="forward and backward pass; default: forward alone")
    parser.add_argument("--amp", action="store_true", help="mixed precision in bfloat16")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    parser.add_argument("--min-run-time", type=float, default=1.0, help="seconds spent on each time (default: 1)")
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="on a CPU that others use too: one thread, and the time the processor spent on it",
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark_inputs.png"), help="picture (default: %(default)s)")
    args = parser.parse_args()
    if args.processor_time and args.device == "cuda":
        parser.error("--processor-time does not measure a GPU: leave it out, or take --device cpu")
    if args.out.suffix not in (".png", ".svg", ".pdf"):
        parser.error(f"--out {args.out}: a picture ends in .png, .svg or .pdf")
    return args


def main() -> None:
    args = parse_args()
    import torch

    import csan_mm  # noqa: F401
    from csan_mm.analysis.input_sizes import SIZES, compare, draw, format_points, rivals

    device = args.device or ("cuda" if torch.cuda.is_available() and not args.processor_time else "cpu")
    threads = "processor time of one thread" if args.processor_time else f"{torch.get_num_threads()} threads"
    where = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {threads}"
    step = "forward and backward" if args.train else "forward"
    title = (
        f"{step}, batch {args.batch_size}, {'bfloat16' if args.amp else 'float32'}, {where}, torch {torch.__version__}"
    )
    options = {"batch_size": args.batch_size, "train": args.train, "device": device, "amp": args.amp}
    points = list(compare(rivals(args.arch, **options), args.sizes or SIZES, args.min_run_time, args.processor_time))
    print(title)
    print(format_points(points))
    draw(points, args.out, title)
    print(f"picture: {args.out}")


if __name__ == "__main__":
    main()
