"""Write a trained model as ONNX or torch.export, for any batch and image size; the file is run and compared before it is kept.

python tools/export_model.py CONFIG CHECKPOINT OUT.onnx [--part backbone]
python tools/export_model.py CONFIG CHECKPOINT OUT.pt2 [--part backbone]
"""

import argparse


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Write a trained model as ONNX (.onnx) or torch.export (.pt2)")
    parser.add_argument("config", help="path of the config the model was trained with")
    parser.add_argument("checkpoint", help="path of its checkpoint")
    parser.add_argument("out", help="file to write, ending in .onnx or .pt2")
    parser.add_argument(
        "--part",
        choices=["model", "backbone"],
        default="model",
        help="model: preprocessed image to the raw outputs of a dense head, without decoding and NMS (default: model)",
    )
    parser.add_argument("--opset", type=int, default=18, help="ONNX operator set, from 17 (default: 18)")
    parser.add_argument(
        "--trust", action="store_true", help="unpickle a file that cannot be read otherwise, which runs the code in it"
    )
    return parser.parse_args()


def main() -> None:
    args = parse_args()
    from csan_mm.cli.export import run

    run(args)


if __name__ == "__main__":
    main()
