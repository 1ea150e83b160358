"""CBSA files: classifiers, segmentation models and their heads; mmpretrain's ViT; plain attention in CBSA's form."""

import subprocess
import sys

import pytest
import torch
from mmengine.registry import MODELS

from csan_mm.backbones import CBT, ViTCSaN
from csan_mm.checkpoint import CheckpointError, Pretrained, convert_state_dict, guess_source, load_file, save_file
from csan_mm.heads import CBTHead

DIMS = {"embed_dims": 16, "depth": 2, "num_heads": 2}


def classifier_file(mixer: str) -> dict[str, torch.Tensor]:
    """A classifier in the authors' names, from a CBT of ours."""
    state = {}
    for name, value in CBT(DIMS, mixer=mixer, img_size=32).state_dict().items():
        first, _, rest = name.partition(".")
        if first == "blocks":
            block, kind, rest = rest.split(".", 2)
            part, inner = {"norm1": (0, "norm"), "attn": (0, "fn"), "norm2": (1, "norm"), "ista": (1, "fn")}[kind]
            if mixer != "cbsa":
                rest = rest.replace("proj.", "qkv.").replace("to_out.", "to_out.0.")
            name = f"transformer.layers.{block}.{part}.{inner}.{rest}"
        elif first == "norm":
            name = f"mlp_head.0.{rest}"
        else:
            name = name.replace("pos_embed", "pos_embedding").replace("patch_embed", "to_patch_embedding")
        state[f"module.{name}"] = value
    state |= {"module.mlp_head.1.weight": torch.randn(10, 16), "module.mlp_head.1.bias": torch.randn(10)}
    return state


def segmenter_file() -> dict[str, torch.Tensor]:
    """A segmentation model in the authors' names."""
    vit = ViTCSaN(DIMS, mixer="softmax", img_size=32).state_dict()
    head = CBTHead(16, 5, head_dims=4).state_dict()
    decoder = {name.replace("layers.", "net.layers.").replace(".attn.", ".fn."): value for name, value in head.items()}
    return {f"encoder.{n}": v for n, v in vit.items()} | {f"decoder.{n}": v for n, v in decoder.items()}


@pytest.mark.parametrize("mixer", ["cbsa", "mssa", "tssa"])
def test_classifiers_load_whole(mixer, tmp_path):
    file = classifier_file(mixer)
    torch.save({"state_dict": file, "epoch": 3}, tmp_path / "cbt.pth")
    weights = load_file(tmp_path / "cbt.pth")
    assert guess_source(weights) == "cbsa"
    state = convert_state_dict(weights, "cbsa")
    model = CBT(DIMS, mixer=mixer, img_size=32)
    model.load_state_dict(state)
    for name, value in state.items():
        assert torch.equal(value, model.state_dict()[name])
    assert set(convert_state_dict(weights, "cbsa", "head")) == {"fc.weight", "fc.bias"}


def test_temperatures_may_be_flat():
    file = {n: v.flatten() if n.endswith("temp") else v for n, v in classifier_file("tssa").items()}
    CBT(DIMS, mixer="tssa", img_size=32).load_state_dict(convert_state_dict(file, "cbsa"))


def test_segmentation_models_load_whole_by_the_tool(tmp_path, repo_root):
    """Encoder and decoder in one file for load_from; the tool's report says what it left out: nothing."""
    torch.save({"model": segmenter_file()}, tmp_path / "seg.pth")
    script = str(repo_root / "tools/model_converters/convert.py")
    command = [sys.executable, script, "seg.pth", "model.pth", "--part", "model"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "(cbsa-seg)" in done.stdout
    assert "left out" not in done.stdout
    model = torch.nn.ModuleDict({"backbone": ViTCSaN(DIMS, mixer="softmax", img_size=32)})
    model["decode_head"] = CBTHead(16, 5, head_dims=4)
    converted = torch.load(tmp_path / "model.pth", weights_only=True)
    model.load_state_dict(converted.get("state_dict", converted))


def test_parts_are_checked():
    with pytest.raises(ValueError, match="part='neck' is unknown: take one of backbone, head, model"):
        convert_state_dict({}, "cbsa", "neck")
    with pytest.raises(ValueError, match="part='head': the heads of source='mm-vit' are not converted"):
        convert_state_dict({}, "mm-vit", "head")


@torch.no_grad()
def test_mmpretrains_vit_gives_its_numbers(tmp_path):
    from mmpretrain.models import VisionTransformer

    arch = {"embed_dims": 16, "num_layers": 2, "num_heads": 2, "feedforward_channels": 64}
    theirs = VisionTransformer(arch, img_size=32, patch_size=8, out_type="raw", layer_scale_init_value=0.1)
    theirs.eval()  # returns None
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    file = {f"backbone.{name}": value for name, value in theirs.state_dict().items()} | {
        "head.fc.weight": torch.ones(1)
    }
    assert guess_source(file) == "mm-vit"
    ours = ViTCSaN(DIMS, mixer="softmax", img_size=32, patch_size=8, out_type="raw", layer_scale=1.0).eval()
    ours.load_state_dict(convert_state_dict(file, "mm-vit"))
    image = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(ours(image)[0], theirs(image)[0], rtol=1e-4, atol=1e-5)


def adapted(path, source: str | None, **mixer) -> ViTCSaN:
    init_cfg = {"type": "csan_mm.Pretrained", "checkpoint": str(path), "source": source}
    mixer = {"type": "cbsa-adapted", **mixer}
    cfg = {
        "type": "csan_mm.ViTCSaN",
        "arch": DIMS,
        "img_size": 32,
        "patch_size": 8,
        "mixer": mixer,
        "init_cfg": init_cfg,
    }
    model = MODELS.build(cfg)
    model.init_weights()
    return model.eval()


def plain_vit() -> ViTCSaN:
    model = ViTCSaN(DIMS, mixer="softmax", img_size=32, patch_size=8).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return model


@pytest.mark.parametrize("contraction", [True, False], ids=["contraction", "no-contraction"])
@pytest.mark.parametrize("layout", ["own", "timm", "mmpretrain"])
@torch.no_grad()
def test_a_vit_of_any_layout_keeps_all_its_weights(layout, contraction, tmp_path):
    theirs = plain_vit().state_dict()
    source = {"own": None, "timm": "timm-vit", "mmpretrain": "mm-vit"}[layout]
    file = dict(theirs) | ({"head.weight": torch.ones(2)} if layout == "timm" else {})
    if layout == "mmpretrain":
        names = {"patch_embed.proj": "patch_embed.projection", "blocks": "layers", "norm1": "ln1", "norm2": "ln2"}
        names |= {"mlp.fc1": "ffn.layers.0.0", "mlp.fc2": "ffn.layers.1", "norm.": "ln1."}
        for old, new in names.items():
            file = {name.replace(old, new): value for name, value in file.items()}
    save_file(file, tmp_path / "vit.safetensors")
    ours = adapted(tmp_path / "vit.safetensors", source, contraction=contraction, rep_grid=3)
    assert ours.blocks[0].attn.contraction is contraction
    for name, value in ours.state_dict().items():
        assert torch.equal(value, theirs[name]), name


@pytest.mark.parametrize("type_", ["cbsa", "mssa", "tssa"])
def test_one_projection_refuses_the_weights_of_three_and_says_what_does_not(type_, tmp_path):
    save_file(plain_vit().state_dict(), tmp_path / "vit.safetensors")
    with pytest.raises(CheckpointError, match=r"one projection in their place: take mixer='cbsa-adapted'"):
        adapted(tmp_path / "vit.safetensors", "timm-vit", type=type_)


def test_the_head_of_timms_classifier(tmp_path):
    file = plain_vit().state_dict() | {"head.weight": torch.randn(5, 16), "head.bias": torch.randn(5)}
    save_file(file, tmp_path / "vit.safetensors")
    init_cfg = {"type": "csan_mm.Pretrained", "checkpoint": str(tmp_path / "vit.safetensors"), "source": "timm-vit"}
    cfg = {"type": "mmpretrain.LinearClsHead", "num_classes": 5, "in_channels": 16}
    head = MODELS.build({**cfg, "init_cfg": {**init_cfg, "part": "head"}})
    head.init_weights()
    assert torch.equal(head.fc.weight, file["head.weight"])
    assert torch.equal(head.fc.bias, file["head.bias"])
    other = MODELS.build({**cfg, "num_classes": 7, "init_cfg": {**init_cfg, "part": "head"}})
    with pytest.raises(CheckpointError, match=r"fc\.weight \(5, 16\) for \(7, 16\)"):
        other.init_weights()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "head"}, "part='head' needs source="),
        ({"part": "model", "source": "timm-vit"}, "part='model' is unknown"),
        ({"part": "head", "source": "ms-swin"}, "the heads of source='ms-swin' are not converted"),
    ],
    ids=str,
)
def test_parts_that_cannot_be_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Pretrained("vit.safetensors", **options)
