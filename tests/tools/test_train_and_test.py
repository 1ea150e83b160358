"""tools/train.py and tools/test.py: what they do, and that bad input ends in one sentence with nothing written."""

import os
import pickle
import shutil
import subprocess
import sys

import pytest
import torch
from PIL import Image


def error_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("error: ")]


SLOW_TO_IMPORT = """
import runpy, sys
sys.argv = [{script!r}, "-h"]
sys.path[0] = sys.path[0] or {folder!r}
try:
    runpy.run_path({script!r}, run_name="__main__")
except SystemExit:
    print("imported:", sorted({{"torch", "mmengine"}} & set(sys.modules)))
"""


@pytest.mark.parametrize("script", ["train.py", "test.py"])
def test_help_is_fast_and_has_no_gpus_option(repo_root, script):
    """mim asks for the help before every training, and appends --gpus where the help has that string."""
    tools = repo_root / "tools"
    code = SLOW_TO_IMPORT.format(folder=str(tools), script=str(tools / script))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "imported: []"
    assert "--gpus" not in done.stdout
    for option in ("--work-dir", "--cfg-options", "--launcher"):
        assert option in done.stdout


@pytest.mark.parametrize("family", ["detection", "segmentation", "classification"])
def test_train_then_test(tool, tiny_config, tmp_path, family):
    config = tiny_config(family)
    trained = tool("train.py", config, "--auto-scale-lr", "--cfg-options", "optim_wrapper.optimizer.lr=0.004")
    assert trained.code == 0, trained.err
    base = 32 if family == "classification" else 8
    scaled = 0.004 * 2 / base
    line = f"effective batch 2 = 1 process x 2 images; learning rate 0.004 for a batch of {base}, scaled to {scaled:g}"
    assert line in trained.out + trained.err
    work_dir = tmp_path / "work_dirs" / config.stem
    checkpoint = work_dir / "iter_2.pth"
    groups = torch.load(checkpoint, weights_only=False)["optimizer"]["param_groups"]
    assert {group["lr"] for group in groups} == {scaled}

    out = tmp_path / ("predicted" if family == "segmentation" else "predicted.pkl")
    tested = tool("test.py", config, checkpoint, "--work-dir", "tested", "--out", out)
    assert tested.code == 0, tested.err
    if family == "segmentation":
        assert len(list(out.glob("*.png"))) == 10
    else:
        assert len(pickle.loads(out.read_bytes())) == 10


@pytest.mark.parametrize("family", ["detection", "segmentation", "classification"])
def test_show_dir_draws_every_image(tool, tiny_config, tmp_path, family):
    more = ""
    if family == "detection":
        # mmdet's visualizer takes colours as tuples.
        more = "test_dataloader.update(dict(dataset=dict(metainfo=dict(palette=[(9, 9, 9)] * 10))))"
    config = tiny_config(family, more)
    assert tool("train.py", config, "--work-dir", "w").code == 0
    ended = tool("test.py", config, "w/iter_2.pth", "--work-dir", "w", "--show-dir", "drawn")
    assert ended.code == 0, ended.err
    drawn = list((tmp_path / "drawn").iterdir())  # directly there, under the images' names
    assert len(drawn) == 10
    assert {path.suffix for path in drawn} == {".png"}


def test_data_root_given_once_moves_all_data(tool, tiny_config, tmp_path):
    """And what is missing there is named, with the option to mend it."""
    ended = tool("train.py", tiny_config("classification"), "--cfg-options", f"data_root={tmp_path}/moved/imagenet")
    assert ended.code == 1
    (line,) = error_lines(ended.err)
    assert line.startswith(
        f"error: {tmp_path}/moved/imagenet/train does not exist (data_prefix img_path of train_dataloader"
    )
    assert "--cfg-options data_root=DIR" in line


@pytest.mark.parametrize(
    ("options", "sentence", "code"),
    [
        (["--cfg-options", "data_root=/nowhere"], "error: /nowhere/annotations/instances_train.json does not exist", 1),
        (["--cfg-options", "oops"], "error: --cfg-options 'oops' is not of the form key=value", 2),
        (
            ["--cfg-options", "train_dataloader.dataset.type=CocoDatset"],
            "error: CocoDatset is not in the mmdet::dataset",
            1,
        ),
        (["--resume", "none.pth"], "error: checkpoint none.pth does not exist", 1),
        (["--amp"], "error: --amp needs a GPU", 1),
        (["--launcher", "pytorch"], "error: --launcher pytorch without RANK, WORLD_SIZE in the environment", 2),
    ],
    ids=["no data", "option", "unknown type", "no checkpoint", "amp on a CPU", "no launcher"],
)
def test_bad_input_of_a_training(tool, tiny_config, tmp_path, monkeypatch, options, sentence, code):
    if "--amp" in options and torch.cuda.is_available():
        pytest.skip("mixed precision works here")
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    ended = tool("train.py", tiny_config(), "--work-dir", tmp_path / "w", *options)
    assert ended.code == code
    assert len(error_lines(ended.err)) == 1
    assert error_lines(ended.err)[0].startswith(sentence)
    assert "Traceback" not in ended.err
    assert not (tmp_path / "w").exists()


def test_outputs_that_cannot_be_written_are_refused_before_the_work(tool, tiny_config, tmp_path):
    """A file stands where a folder is wanted; a folder without permission is refused likewise, but not to root."""
    config, file = tiny_config(), tmp_path / "file"
    file.write_text("")
    torch.save({}, tmp_path / "any.pth")
    Image.new("RGB", (9, 9)).save(tmp_path / "picture.png")
    for ended, option in (
        (tool("train.py", config, "--work-dir", file / "run"), "--work-dir"),
        (tool("test.py", config, tmp_path / "any.pth", "--out", file / "p.pkl"), "--out"),
        (tool("infer.py", tmp_path, "--config", config, "--checkpoint", tmp_path / "any.pth", "--out", file), "--out"),
    ):
        assert ended.code == 2
        (line,) = error_lines(ended.err)
        assert line.startswith(f"error: {option} ")
        assert f"{file} is not a folder that can be written to" in line


def test_nothing_left_to_train_is_said(tool, tiny_config, tmp_path):
    config = tiny_config()
    assert "nothing was left" not in (ended := tool("train.py", config, "--work-dir", tmp_path / "w")).out + ended.err
    again = tool("train.py", config, "--work-dir", tmp_path / "w", "--resume")
    assert again.code == 0
    assert "nothing was left to train: iteration 2 of 2" in again.out + again.err


def test_checkpoints_without_names(tool, tiny_config, tmp_path):
    torch.save([1, 2], tmp_path / "list.pth")
    config = tiny_config()
    for ended in (
        tool("test.py", config, tmp_path / "list.pth"),
        tool("train.py", config, "--cfg-options", f"load_from={tmp_path / 'list.pth'}"),
    ):
        assert ended.code == 1
        assert error_lines(ended.err)[0].endswith("list.pth holds a list and no weights by name")


def test_options_are_taken_as_they_are_written_and_misspelt_ones_refused(tool, tiny_config, tmp_path):
    misspelt = tool("train.py", tiny_config(), "--cfg-options", "modle.backbone.arch=3")
    assert misspelt.code == 2
    assert error_lines(misspelt.err) == ["error: --cfg-options modle: the config has no such key; did you mean model?"]
    blank = tool("train.py", tiny_config(), "--cfg-options", f"data_root={tmp_path}/my data/")
    assert f"{tmp_path}/my data/annotations" in error_lines(blank.err)[0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "does not exist"),
        ("x = (", "SyntaxError"),
        ("_base_ = './no_base.py'", "no_base.py"),
        ("x = 1", "has no `model`"),
        ("custom_imports = dict(imports=['no_such_module'], allow_failed_imports=False)", "no_such_module"),
    ],
    ids=["missing", "syntax", "base", "model", "import"],
)
@pytest.mark.parametrize("script", ["train.py", "test.py"])
def test_unreadable_config(tool, tmp_path, script, content, reason):
    config = tmp_path / "broken.py"
    if content is not None:
        config.write_text(content)
    ended = tool(script, config, *(["x.pth"] if script == "test.py" else []), "--work-dir", tmp_path / "w")
    (line,) = error_lines(ended.err)
    assert ended.code == 1
    assert f"config {config}" in line
    assert reason in line
    assert not (tmp_path / "w").exists()


def test_checkpoint_of_another_architecture(tool, tiny_config, tmp_path):
    config = tiny_config()
    assert tool("train.py", config, "--work-dir", "w").code == 0
    other = ["--cfg-options", "model.backbone.arch.depths=(1,1,2,1)", "model.bbox_head.num_classes=12"]
    for ended in (
        tool("test.py", config, "w/iter_2.pth", "--work-dir", "t", *other),
        tool("train.py", config, "--resume", "w/iter_2.pth", "--work-dir", "r", *other),
    ):
        assert ended.code == 1
        (line,) = error_lines(ended.err)
        assert "w/iter_2.pth does not fit RetinaNet" in line
        assert "missing: backbone.layers.2.blocks.1.norm1.weight" in line
        assert "of another shape: bbox_head.retina_cls.weight (" in line
    assert not list((tmp_path / "r").glob("*.pth"))
    # Starting from weights may leave out a head, but not everything.
    finetuned = tool("train.py", config, "--work-dir", "f", *other, "load_from=w/iter_2.pth")
    assert finetuned.code == 0, finetuned.err
    torch.save({"state_dict": {"stem.weight": torch.ones(1)}}, tmp_path / "alien.pth")
    ended = tool("train.py", config, "--work-dir", "a", "--cfg-options", "load_from=alien.pth")
    assert ended.code == 1
    assert "no weight of alien.pth (stem.weight, ...) fits RetinaNet" in error_lines(ended.err)[0]


PILLOW_OR_OPENCV = """
train_dataloader.update(dataset=dict(data_root={root!r}, pipeline=[
    dict(type='LoadImageFromFile', imdecode_backend={backend!r}),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='PackDetInputs', meta_keys=('img_path', 'img_shape', 'ori_shape')),
]))
"""


@pytest.mark.parametrize(("content", "backend"), [(b"not an image", "cv2"), (b"", "cv2"), (b"text", "pillow")])
def test_non_image_file_is_named(tool, tiny_config, tmp_path, digits_root, content, backend):
    """OpenCV returns nothing, or fails without a name; Pillow fails without a name."""
    root = tmp_path / "copy"
    shutil.copytree(digits_root / "coco", root)
    bad = sorted((root / "train").iterdir())[3]
    bad.write_bytes(content)
    config = tiny_config(more=PILLOW_OR_OPENCV.format(root=str(root), backend=backend))
    ended = tool("train.py", config, "--work-dir", "w", "--cfg-options", "train_cfg.max_iters=5")
    assert ended.code == 1
    (line,) = error_lines(ended.err)
    assert line.startswith(f"error: {bad} is not a readable image: replace it")


def test_one_image_for_a_batch_norm_is_one_sentence(tool, tiny_config):
    """UPerNet pools a map to one cell, whose variance over one image does not exist."""
    config = tiny_config("segmentation")
    done = tool("train.py", config, "--cfg-options", "train_dataloader.batch_size=1")
    assert done.code == 1
    (line,) = error_lines(done.err)
    assert "a batch norm got one value per channel ([1, 16, 1, 1])" in line
    assert "train_dataloader.batch_size=2 or more" in line


def test_settings_of_workers_without_workers(tool, tiny_config):
    """A config that keeps its workers alive; who takes the workers away need not know that."""
    settings = "dict(num_workers=0, persistent_workers=True, prefetch_factor=2)"
    config = tiny_config(more=f"train_dataloader.update({settings})\ntest_dataloader.update({settings})\n")
    trained = tool("train.py", config)
    assert trained.code == 0, trained.err
    tested = tool("test.py", config, f"work_dirs/{config.stem}/iter_2.pth")
    assert tested.code == 0, tested.err


def test_cpu_threads_are_chosen_unless_the_user_has(tool, tiny_config, monkeypatch):
    """Which number is the machine's affair."""
    from csan_mm.engine.cpu_threads import USER_SETTINGS

    said = "CPU threads: a small network takes"
    config, threads = tiny_config(), torch.get_num_threads()
    assert said not in (done := tool("train.py", config)).out + done.err
    for name in [name for name in os.environ if name.startswith(USER_SETTINGS)]:
        monkeypatch.delenv(name)
    torch.set_num_threads(2)
    monkeypatch.setattr("csan_mm.engine.cpu_threads.get_device", lambda: "cpu")
    assert said in (done := tool("train.py", config)).out + done.err
    assert torch.get_num_threads() == 2
    config = tiny_config(more="import torch\ntorch.set_num_threads(1)\ndel torch\n")
    assert said not in (done := tool("train.py", config)).out + done.err
    assert torch.get_num_threads() == 1
    torch.set_num_threads(threads)
