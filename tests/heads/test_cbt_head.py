"""CBTHead: golden masks, any map size, what the table says it costs, attention to classes, training, windows, laziness."""

import subprocess
import sys

import pytest
import torch
from golden import assert_golden, read_golden
from mmengine.config import ConfigDict
from mmengine.registry import MODELS, DefaultScope
from torch.utils.flop_counter import FlopCounterMode

from csan_mm.checkpoint import convert_state_dict
from csan_mm.heads import CBTHead

VIT = {"type": "csan_mm.ViTCSaN", "mixer": "softmax", "img_size": 64, "patch_size": 8}
CBT = {"type": "csan_mm.CBT", "img_size": 64}


def head(**options) -> CBTHead:
    options = {"in_channels": 12, "num_classes": 5, "num_layers": 2, "head_dims": 8, "rep_grid": 3, **options}
    return CBTHead(**options).eval()


def segmentor(backbone: dict, **options):
    """A segmentor of 11 classes, on a backbone 32 channels wide."""
    cfg = {
        "type": "EncoderDecoder",
        "backbone": {**backbone, "arch": {"embed_dims": 32, "depth": 2, "num_heads": 2}},
        "decode_head": {
            "type": "csan_mm.CBTHead",
            "in_channels": 32,
            "num_classes": 11,
            "head_dims": 16,
            "rep_grid": 4,
        },
        "train_cfg": {},
        "test_cfg": ConfigDict(mode="whole"),
        **options,
    }
    with DefaultScope.overwrite_default_scope("mmseg"):
        return MODELS.build({**cfg, "type": "mmseg.EncoderDecoder"})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@torch.no_grad()
def test_golden(golden_dir, dtype):
    golden = read_golden(golden_dir, "cbt_decoder")
    about = golden.about
    model = CBTHead(
        about["embed_dims"],
        about["num_classes"],
        num_layers=about["num_layers"],
        num_heads=about["num_heads"],
        head_dims=about["head_dims"],
        rep_grid=about["pool_size"],
    )
    file = {f"decoder.{name}": value for name, value in golden.state.items()}
    file |= {"encoder.pos_embed": torch.zeros(1, 257, 24), "encoder.blocks.0.attn.qkv.weight": torch.zeros(72, 24)}
    model.load_state_dict(convert_state_dict(file, "cbsa-seg", part="head"))
    assert_golden(model.eval().to(dtype)([golden.image.to(dtype)]), golden.outputs["masks"])


@pytest.mark.parametrize("grid", [(1, 1), (3, 7), (32, 32), (50, 84)], ids=str)
@torch.no_grad()
def test_any_map(grid):
    """In float64: a LayerNorm over cosines that hardly differ enlarges what rounding leaves in their mean."""
    masks = head().double()([torch.randn(2, 12, *grid, dtype=torch.float64)])
    assert masks.shape == (2, 5, *grid)
    assert masks.mean(dim=1).abs().max() < 1e-10  # the LayerNorm over classes
    assert (masks.std(dim=1) > 0.1).all()


@torch.no_grad()
def test_a_place_takes_the_class_it_resembles():
    """Layers that add nothing: the highest mask is that of the class whose direction the patch has, whatever its length."""
    model = head(num_classes=4)
    for layer in model.layers:
        for parameter in layer.attn.to_out.parameters():
            torch.nn.init.zeros_(parameter)
    torch.nn.init.orthogonal_(model.cls_emb[0])
    order = torch.tensor([[2, 0, 1], [3, 3, 1]])
    patches = model.cls_emb[0][order] * torch.tensor([0.1, 1.0, 50.0])[None, :, None]
    assert torch.equal(model([patches.permute(2, 0, 1)[None]]).argmax(dim=1)[0], order)


@pytest.mark.parametrize(
    ("width", "layers", "crop", "reported"),
    [(192, 3, 512, 1.5), (384, 3, 512, 2.3), (768, 6, 512, 7.8), (1024, 9, 640, 22.3)],
    ids=["T", "S", "B", "L"],
)
def test_cost_of_the_papers_decoders(width, layers, crop, reported):
    """2 MACs of all products of matrices in 10^9, within 6 % of the paper's figures: one layer fewer or more is further off."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        model = CBTHead(width, 150, num_layers=layers)
        model([torch.randn(1, width, crop // 16, crop // 16)])
    assert counter.get_total_flops() / 1e9 == pytest.approx(reported, rel=0.06)


@torch.no_grad()
def test_class_attention_is_the_share_of_the_classes():
    """Against the tokens' whole matrix A^T S A: one gradient of the output with respect to the values says the same."""
    model, x = head(), torch.randn(1, 12, 3, 4)
    attention = model.class_attention([x], layer=0)
    assert attention.shape == (1, 3, 5, 3, 4)
    tokens, grid = model.tokens([x])
    attn = model.layers[0].attn
    A, S = attn.shares(model.layers[0].norm(tokens), grid)
    whole = A.transpose(-2, -1) @ S @ A  # (1, 3, 17, 17), classes first
    torch.testing.assert_close(attention.flatten(-2), whole[:, :, 5:, :5].transpose(-2, -1))
    w, coefficients, rep, contracted = attn.trace(model.layers[0].norm(tokens), grid)
    extracted = coefficients @ w * attn.step_rep
    torch.testing.assert_close(
        coefficients.transpose(-2, -1) @ contracted - coefficients.transpose(-2, -1) @ S @ (rep - extracted),
        attn.step_rep * (whole @ w),
    )
    assert not torch.equal(attention, model.class_attention([x]))
    with pytest.raises(IndexError):
        model.class_attention([x], layer=2)


@pytest.mark.parametrize(("cls_std", "least", "most"), [(0.02, 0.7, 1.0), (1.0, -0.3, 0.3)])
@torch.no_grad()
def test_how_far_apart_classes_start(cls_std, least, most):
    """The mean cosine between classes behind untrained layers, which all add much the same to each."""
    model = head(in_channels=64, num_classes=11, cls_std=cls_std)
    assert model.cls_emb.std() == pytest.approx(cls_std, rel=0.2)
    x, grid = model.tokens([torch.randn(1, 64, 8, 8)])
    for layer in model.layers:
        x = layer(x, grid)
    classes = torch.nn.functional.normalize(model.decoder_norm(x)[0, :11], dim=-1)
    cosines = (classes @ classes.T)[~torch.eye(11, dtype=torch.bool)]
    assert least < cosines.mean() < most


@pytest.mark.parametrize("contraction", [True, False], ids=["contraction", "no-contraction"])
def test_every_parameter_gets_a_gradient_under_autocast(contraction):
    model = head(contraction=contraction)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        model([torch.randn(2, 12, 5, 6)]).float().square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("backbone", [VIT, CBT], ids=["vit", "cbt"])
def test_training_on_digits_lowers_the_loss(backbone, tmp_path):
    """The segmentation form of the digits data set; the last losses are below those at the start by more than their spread."""
    from mmengine.dataset import pseudo_collate
    from mmseg.datasets import BaseSegDataset

    from csan_mm.datasets import DigitsSpec, build_digits

    build_digits(tmp_path, DigitsSpec(train_count=8, val_count=1, image_size=(64, 64)))
    pipeline = [{"type": f"mmseg.{name}"} for name in ("LoadImageFromFile", "LoadAnnotations", "PackSegInputs")]
    root = next(tmp_path.rglob("images")).parent
    data = BaseSegDataset(
        metainfo={"classes": tuple(map(str, range(11)))},
        data_root=str(root),
        data_prefix={"img_path": "images/training", "seg_map_path": "annotations/training"},
        pipeline=pipeline,
    )
    preprocessor = {"type": "SegDataPreProcessor", "mean": [127.5] * 3, "std": [127.5] * 3, "size": (64, 64)}
    model = segmentor(backbone, data_preprocessor=preprocessor)
    model.init_weights()
    model.train()
    batch = model.data_preprocessor(pseudo_collate([data[i] for i in range(8)]), training=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(25):
        loss = model.loss(batch["inputs"], batch["data_samples"])["decode.loss_ce"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert max(losses[-5:]) < 0.8 * losses[0]
    assert all(p.grad is not None for p in model.parameters())


@torch.no_grad()
def test_sliding_windows():
    """One window that covers the image is the whole image; a map of several windows has the image's size, odd or not."""
    model = segmentor(VIT).eval()
    image = torch.randn(1, 3, 64, 64)
    meta = [{"img_shape": (64, 64), "ori_shape": (64, 64), "pad_shape": (64, 64)}]
    whole = model.whole_inference(image, meta)
    model.test_cfg.update(mode="slide", crop_size=(64, 64), stride=(32, 32))
    torch.testing.assert_close(model.slide_inference(image, meta), whole)
    image = torch.randn(1, 3, 83, 150)
    meta = [{"img_shape": (83, 150), "ori_shape": (83, 150), "pad_shape": (83, 150)}]
    assert model.slide_inference(image, meta).shape == (1, 11, 83, 150)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="num_layers=0 is out of range"):
        head(num_layers=0)
    with pytest.raises(ValueError, match="num_classes=1 is out of range"):
        head(num_classes=1)
    with pytest.raises(ValueError, match="rep_grid=0"):
        head(rep_grid=0)
    with pytest.raises(ValueError, match="cls_std=0 is invalid"):
        head(cls_std=0)


def test_mmseg_is_imported_when_the_head_is_asked_for_and_missed_by_name():
    code = """
import sys, csan_mm
from mmengine.registry import MODELS
MODELS.build({"type": "csan_mm.CBT", "arch": {"embed_dims": 8, "depth": 1, "num_heads": 1}})
assert not {"mmseg", "mmdet", "mmpretrain"} & set(sys.modules)
sys.modules["mmseg"] = None
try:
    MODELS.build({"type": "csan_mm.CBTHead", "in_channels": 8, "num_classes": 3})
except ImportError as error:
    assert "CBTHead is a head for mmseg, which is not installed" in str(error), error
else:
    raise AssertionError("built without mmseg")
del sys.modules["mmseg"]
head = MODELS.build({"type": "csan_mm.CBTHead", "in_channels": 8, "num_classes": 3})
assert type(head).__name__ == "CBTHead" and "mmseg" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
