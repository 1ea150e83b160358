"""Conversion of ViT and Hiera files: class token, positions, pooling, norms, each on values."""

import pytest
import timm
import torch
from mmengine.registry import MODELS

from csan_mm.backbones import HieraCSaN, ViTCSaN
from csan_mm.checkpoint import convert_state_dict, guess_source, save_file

VIT = {"embed_dims": 32, "depth": 2, "num_heads": 2}
HIERA = {"embed_dims": 16, "depths": (1, 1, 1, 1), "num_heads": 1}


def timm_vit(**options):
    return timm.models.VisionTransformer(
        img_size=64, patch_size=8, embed_dim=32, depth=2, num_heads=2, num_classes=5, **options
    ).eval()


def timm_hiera(**options):
    return timm.models.Hiera(
        img_size=64, embed_dim=16, num_heads=1, stages=(1, 1, 1, 1), num_classes=5, **options
    ).eval()


def from_file(path, source: str, cfg: dict) -> torch.nn.Module:
    model = MODELS.build({**cfg, "init_cfg": {"type": "csan_mm.Pretrained", "checkpoint": str(path), "source": source}})
    model.init_weights()
    return model.eval()


def meta_layout(state: dict, norm: str) -> dict:
    names = {"head.norm.": f"{norm}.", "head.fc.": "head.projection."}
    renamed = {}
    for name, value in state.items():
        for old, new in names.items():
            name = name.replace(old, new)
        renamed[name] = value
    return {"model_state": renamed}


@pytest.mark.parametrize(
    ("make", "source"),
    [
        (lambda: ViTCSaN(VIT).state_dict(), "csan-vit"),
        (lambda: timm_vit().state_dict(), "timm-vit"),
        (lambda: HieraCSaN(HIERA).state_dict(), "csan-hiera"),
        (lambda: timm_hiera().state_dict(), "timm-hiera"),
        (lambda: meta_layout(timm_hiera().state_dict(), "norm")["model_state"], "meta-hiera"),
        (lambda: meta_layout(timm_hiera().state_dict(), "encoder_norm")["model_state"], "meta-hiera"),
    ],
    ids=["csan-vit", "timm-vit", "csan-hiera", "timm-hiera", "meta-hiera", "meta-hiera-mae"],
)
def test_layouts_are_told_apart(make, source):
    assert guess_source(make()) == source


@torch.no_grad()
def test_vit_positions_of_another_resolution_are_resized_at_loading(tmp_path):
    """The file's 8 x 8 grid becomes the backbone's 4 x 8 as timm resizes it; the class row stays."""
    theirs = timm_vit()
    torch.nn.init.normal_(theirs.pos_embed)
    save_file(theirs.state_dict(), tmp_path / "vit.safetensors")
    cfg = {"type": "csan_mm.ViTCSaN", "arch": VIT, "mixer": "softmax", "patch_size": 8, "img_size": (32, 64)}
    ours = from_file(tmp_path / "vit.safetensors", "timm-vit", cfg)
    expected = timm.layers.resample_abs_pos_embed(theirs.pos_embed, [4, 8], [8, 8], num_prefix_tokens=1)
    torch.testing.assert_close(ours.pos_embed, expected)


@torch.no_grad()
def test_vit_loads_into_a_backbone_without_class_token(tmp_path):
    theirs = timm_vit()
    save_file(theirs.state_dict(), tmp_path / "vit.safetensors")
    cfg = {"type": "csan_mm.ViTCSaN", "arch": VIT, "patch_size": 8, "img_size": 64}
    ours = from_file(tmp_path / "vit.safetensors", "timm-vit", {**cfg, "with_cls_token": False, "window_size": 4})
    torch.testing.assert_close(ours.pos_embed, theirs.pos_embed[:, 1:])


@torch.no_grad()
def test_distilled_vit_loses_its_second_token(tmp_path):
    """DeiT's files have a class and a distillation row in front of the positions."""
    state = timm_vit().state_dict()
    table = torch.randn(1, 66, 32)
    save_file({**state, "pos_embed": table, "dist_token": torch.zeros(1, 1, 32)}, tmp_path / "deit.pth")
    cfg = {"type": "csan_mm.ViTCSaN", "arch": VIT, "mixer": "softmax", "patch_size": 8, "img_size": 64}
    ours = from_file(tmp_path / "deit.pth", "timm-vit", cfg)
    torch.testing.assert_close(ours.pos_embed, table[:, [0, *range(2, 66)]])


@pytest.mark.parametrize("norm", ["norm", "encoder_norm"])
@torch.no_grad()
def test_metas_hiera_gives_timms_numbers(tmp_path, norm):
    theirs = timm_hiera()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    torch.save(meta_layout(theirs.state_dict(), norm), tmp_path / "hiera.pth")
    cfg = {"type": "csan_mm.HieraCSaN", "arch": HIERA, "mixer": "softmax", "img_size": 64, "out_indices": (3,)}
    ours = from_file(tmp_path / "hiera.pth", "meta-hiera", cfg)
    image = torch.randn(1, 3, 64, 64)
    expected = theirs.head.norm(
        theirs.forward_intermediates(image, indices=[3], intermediates_only=True)[0].permute(0, 2, 3, 1)
    )
    torch.testing.assert_close(ours(image)[0], expected.permute(0, 3, 1, 2), rtol=1e-4, atol=1e-4)


def test_absolute_window_positions_of_meta():
    state = timm_hiera(abs_win_pos_embed=True).state_dict()
    file = meta_layout(state, "norm")["model_state"]
    file["pos_embed_abs"] = file.pop("pos_embed")
    converted = convert_state_dict(file, "meta-hiera")
    assert torch.equal(converted["pos_embed"], state["pos_embed"])
    assert torch.equal(converted["pos_embed_win"], state["pos_embed_win"])


@torch.no_grad()
def test_hiera_positions_of_another_resolution_are_resized_at_loading(tmp_path):
    theirs = timm_hiera()
    save_file(theirs.state_dict(), tmp_path / "hiera.pth")
    cfg = {"type": "csan_mm.HieraCSaN", "arch": HIERA, "img_size": (96, 128)}
    ours = from_file(tmp_path / "hiera.pth", "timm-hiera", cfg)
    expected = timm.layers.resample_abs_pos_embed(theirs.pos_embed, [24, 32], [16, 16], num_prefix_tokens=0)
    torch.testing.assert_close(ours.pos_embed, expected)
