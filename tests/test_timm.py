"""The backbones in timm, held to what timm's own tests hold its models to: forward, backward, default cfg, features, groups."""

import pytest
import timm
import torch
from timm.optim import param_groups_layer_decay, param_groups_weight_decay
from torch import nn

import csan_mm
import csan_mm.timm
from csan_mm.backbones.base import DenseBackbone
from csan_mm.checkpoint.files import CheckpointError

SMALL = {
    "swin_csan_min": [96, 192, 384, 768],
    "vit_csan_tiny": [192] * 12,
    "hiera_csan_tiny": [96, 192, 384, 768],
    "mavit_tiny": [64, 128, 256, 512],
    "weightformer_tiny": [192] * 17,
    "cbt_tiny": [192] * 12,
}
ON_TOKENS = ("vit_csan_tiny", "weightformer_tiny", "cbt_tiny")
every = pytest.mark.parametrize("name", SMALL)
pytestmark = pytest.mark.filterwarnings("ignore:8 x 8 representatives")
SIZE = 64


def create(name: str, **options) -> nn.Module:
    return timm.create_model(name, **{"img_size": SIZE, **options})


def image(size: tuple[int, int] = (SIZE, SIZE), channels: int = 3) -> torch.Tensor:
    return torch.randn(1, channels, *size)


def test_every_backbone_is_registered():
    names = {name.replace("-", "_") for name in csan_mm.list_models()}
    assert names <= set(timm.list_models())
    assert {f"{name}.csan_mm" for name in names} <= set(timm.list_models(pretrained=False, include_tags=True))
    assert all(timm.is_model(name) for name in names)


@every
@torch.no_grad()
def test_forward(name):
    model = create(f"{name}.csan_mm").eval()
    y = model(image())
    assert y.shape == (1, 1000)
    assert y.isfinite().all()
    assert (
        sum(parameter.numel() for parameter in model.head.parameters())
        == 1001 * 1000 - 1000 * 1001 + (model.num_features + 1) * 1000
    )


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("swin_csan_tiny", 29_502_118),
        ("swin_csan_small", 51_813_334),
        ("vit_csan_base_slim", 40_585_896),
        ("hiera_csan_tiny_plus", 29_101_510),
        ("mavit_tiny", 16_449_128),
        ("mavit_large", 97_766_088),
        ("weightformer_small", 27_492_136),
        ("cbt_large", 83_051_368),
    ],
)
def test_parameters_are_the_papers(name, count):
    with torch.device("meta"):
        model = timm.create_model(name)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


@every
def test_backward(name):
    model = create(name, num_classes=42, drop_rate=0.1)
    model.train()
    y = model(torch.randn(2, 3, SIZE, SIZE))
    (y * torch.randn_like(y)).sum().backward()
    assert y.shape[-1] == 42
    without = [n for n, parameter in model.named_parameters() if parameter.grad is None]
    assert not without


@every
@torch.no_grad()
def test_default_cfg(name):
    model = create(name).eval()
    cfg, state = model.default_cfg, model.state_dict()
    assert f"{cfg['classifier']}.weight" in state
    assert f"{cfg['first_conv']}.weight" in state
    assert model.get_submodule(cfg["first_conv"]).in_channels == 3
    assert model.get_classifier() is model.get_submodule(cfg["classifier"])
    whole = timm.create_model(name).eval()
    features = whole.forward_features(torch.zeros(1, *cfg["input_size"]))
    if name in ON_TOKENS:
        assert features.shape[1] - whole.num_prefix_tokens == cfg["pool_size"][0] ** 2
        assert features.shape[-1] == model.num_features
    else:
        assert features.shape == (1, model.num_features, *cfg["pool_size"])
    config = timm.data.resolve_model_data_config(model)
    assert config["mean"] == (0.485, 0.456, 0.406)


@every
@torch.no_grad()
def test_resetting_the_classifier(name):
    model = create(name).eval()
    x = image()
    vector = model.forward_head(model.forward_features(x), pre_logits=True)
    assert vector.shape == (1, model.head_hidden_size)
    model.reset_classifier(0)
    torch.testing.assert_close(model(x), vector)
    model.reset_classifier(0, "")
    torch.testing.assert_close(model(x), model.forward_features(x))
    model.reset_classifier(7, "avg")
    assert model(x).shape == (1, 7)
    assert model.num_classes == 7
    with pytest.raises(ValueError, match="a classifier needs one vector"):
        model.reset_classifier(7, "")
    with pytest.raises(ValueError, match="global_pool='max'"):
        model.reset_classifier(0, "max")


@every
@torch.no_grad()
def test_features_only(name):
    model = create(name, features_only=True, in_chans=5).eval()
    maps = model(image((48, 80), channels=5))
    assert model.feature_info.channels() == (SMALL[name][-3:] if name in ON_TOKENS else SMALL[name])
    for width, stride, y in zip(model.feature_info.channels(), model.feature_info.reduction(), maps, strict=True):
        assert y.shape == (1, width, -(-48 // stride), -(-80 // stride))


@every
@torch.no_grad()
def test_features_are_those_of_the_backbone(name):
    model = create(name).eval()
    levels = (0, len(SMALL[name]) - 1)
    kind = type(model.backbone)
    options = {"img_size": SIZE} if name in ("vit_csan_tiny", "hiera_csan_tiny", "cbt_tiny") else {}
    twin = kind(name.rpartition("_")[2], out_indices=levels, norm_cfg=None, **options).eval()
    twin.load_state_dict({k: v for k, v in model.backbone.state_dict().items() if not k.startswith("norm3")})
    x = image((48, 80))
    maps = model.forward_intermediates(x, levels, intermediates_only=True)
    expected = twin(x)
    torch.testing.assert_close(maps[0], expected[0])
    if not hasattr(model.backbone, "norm3"):  # else the last level is normed, as the classifier reads it
        torch.testing.assert_close(maps[1], expected[1])
    assert isinstance(twin, DenseBackbone)


@every
@torch.no_grad()
def test_intermediates(name):
    model = create(name).eval()
    x = image((48, 80))
    final, maps = model.forward_intermediates(x, indices=2)
    torch.testing.assert_close(final, model.forward_features(x))
    assert [y.shape[1] for y in maps] == SMALL[name][-2:]
    every_level = model.forward_intermediates(x, intermediates_only=True)
    assert len(every_level) == len(SMALL[name])
    torch.testing.assert_close(every_level[-2:], maps)
    if name in ON_TOKENS:
        tokens = model.forward_intermediates(
            x, [0], output_fmt="NLC", intermediates_only=True, return_prefix_tokens=True
        )
        assert tokens[0][0].shape == (1, 15, 192)
        assert tokens[0][1].shape == (1, model.num_prefix_tokens, 192)
        normed = model.forward_intermediates(x, [0], norm=True, intermediates_only=True)
        assert not torch.allclose(normed[0], every_level[0])
    else:
        with pytest.raises(ValueError, match="output_fmt='NLC'"):
            model.forward_intermediates(x, output_fmt="NLC")


@every
@torch.no_grad()
def test_pruning_leaves_the_lower_levels_as_they_are(name):
    model = create(name).eval()
    x = image()
    before = model.forward_intermediates(x, [0, 1], intermediates_only=True)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert model.prune_intermediate_layers([0, 1]) == [0, 1]
    torch.testing.assert_close(model.forward_intermediates(x, [0, 1], intermediates_only=True), before)
    assert sum(parameter.numel() for parameter in model.parameters()) < count
    with pytest.raises(ValueError, match="pruned behind level 1"):
        model.forward_intermediates(x, [2])


@every
def test_pruned_features_train_every_parameter(name):
    model = create(name, features_only=True, out_indices=(0, 1))
    sum((y * torch.randn_like(y)).sum() for y in model(torch.randn(2, 3, SIZE, SIZE))).backward()
    assert [n for n, parameter in model.named_parameters() if parameter.grad is None] == []


@every
def test_groups_and_decay(name):
    model = create(name, num_classes=3)
    names = [n for n, _ in model.named_parameters()]
    group, coarse = model.group_matcher(), model.group_matcher(coarse=True)
    depth = sum(model.backbone.depths)
    assert {group(n) for n in names} == set(range(depth + 2))
    assert group(model.default_cfg["first_conv"] + ".weight") == 0
    assert group("head.fc.weight") == depth + 1
    assert {coarse(n) for n in names} == {0, *range(1, model.num_levels + 1), depth + 1}
    assert model.no_weight_decay() <= set(names)
    decayed = param_groups_layer_decay(model, weight_decay=0.1, no_weight_decay_list=model.no_weight_decay())
    rates = {id(p): entry["lr_scale"] for entry in decayed for p in entry["params"]}
    parameters = dict(model.named_parameters())
    assert rates[id(parameters["head.fc.weight"])] == 1 > rates[id(parameters[names[0]])]
    spared = param_groups_weight_decay(model, 0.1, no_weight_decay_list=model.no_weight_decay())
    free = {id(p) for entry in spared if entry["weight_decay"] == 0 for p in entry["params"]}
    assert all(id(parameters[n]) in free for n in model.no_weight_decay())


@every
def test_grad_checkpointing_gives_the_same_gradients(name):
    model = create(name, num_classes=3, drop_path_rate=0.0).eval()
    x = image()
    weight = model.get_submodule(model.default_cfg["first_conv"]).weight
    gradients = []
    for enable in (False, True):
        model.set_grad_checkpointing(enable)
        (gradient,) = torch.autograd.grad((model(x) * torch.tensor([1.0, -2.0, 0.5])).sum(), weight)
        gradients.append(gradient)
    torch.testing.assert_close(*gradients)
    assert gradients[0].abs().max() > 0


@every
@torch.no_grad()
def test_a_saved_state_comes_back_by_pretrained(name, tmp_path):
    model = create(name).eval()
    torch.save(model.state_dict(), tmp_path / "model.pth")
    overlay = {"file": str(tmp_path / "model.pth")}
    again = create(name, pretrained=True, pretrained_cfg_overlay=overlay).eval()
    x = image()
    torch.testing.assert_close(again(x), model(x))
    model.load_pretrained(tmp_path / "model.pth")  # as an older timm does
    few = create(name, pretrained=True, pretrained_cfg_overlay=overlay, num_classes=5).eval()
    torch.testing.assert_close(few.forward_features(x), model.forward_features(x))
    assert few(x).shape == (1, 5)


@torch.no_grad()
def test_timms_own_file_is_read(tmp_path):
    vit = timm.create_model("vit_tiny_patch16_224", img_size=SIZE).eval()
    torch.save(vit.state_dict(), tmp_path / "vit.pth")
    overlay = {"file": str(tmp_path / "vit.pth")}
    ours = create("vit_csan_tiny", mixer="softmax", pretrained=True, pretrained_cfg_overlay=overlay).eval()
    x = image()
    torch.testing.assert_close(ours(x), vit(x), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_the_authors_classifier_of_mavit_is_read(tmp_path):
    """Their file has the projection as ``proj`` and ``norm`` and the classes as a 1x1 convolution."""
    model = create("mavit_tiny").eval()
    own = model.state_dict()
    state = {name.removeprefix("backbone."): value for name, value in own.items() if name.startswith("backbone.")}
    state |= {name.removeprefix("neck."): value for name, value in own.items() if name.startswith("neck.")}
    state |= {"head.weight": own["head.fc.weight"][:, :, None, None], "head.bias": own["head.fc.bias"]}
    torch.save({"model": state}, tmp_path / "mavit.pth")
    again = create("mavit_tiny", pretrained=True, pretrained_cfg_overlay={"file": str(tmp_path / "mavit.pth")}).eval()
    x = image()
    torch.testing.assert_close(again(x), model(x))


def test_wrong_files_and_arguments(tmp_path):
    torch.save({"foreign": torch.zeros(1)}, tmp_path / "foreign.pth")
    with pytest.raises(CheckpointError, match="does not fit SwinCSaN"):
        create("swin_csan_min", pretrained=True, pretrained_cfg_overlay={"file": str(tmp_path / "foreign.pth")})
    with pytest.raises(RuntimeError, match="No pretrained weights exist"):
        create("swin_csan_min", pretrained=True)
    with pytest.raises(ValueError, match="SwinCSaN takes no argument 'nonsense'"):
        create("swin_csan_min", nonsense=1)
    with pytest.raises(ValueError, match="global_pool='token'"):
        create("swin_csan_min", global_pool="token")


def test_options_of_the_backbone_pass_through():
    model = create("swin_csan_min", mixer="softmax", version="v2", drop_path_rate=0.3)
    assert type(model.backbone.layers[0].blocks[0].attn).__name__ == "SoftmaxAttention"
    assert model.backbone.layers[0].blocks[0].posinfo is not None
