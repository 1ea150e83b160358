"""The console has what a person needs, the log file everything."""

import pytest
from mmengine.logging import MMLogger

from csan_mm.cli.console import FILE_ONLY, short_console
from csan_mm.cli.overview import _pretrained


def log_all(name: str, log_file: str, verbose: bool) -> None:
    with short_console(verbose):
        logger = MMLogger.get_instance(name, log_file=log_file)
        for beginning in (*FILE_ONLY, "effective batch 8", "no Config:\n"):
            logger.info(f"{beginning}...")


@pytest.mark.parametrize("verbose", [False, True])
def test_settings_in_full_go_to_the_file_alone(tmp_path, capsys, verbose):
    log_all(f"console-{verbose}", str(tmp_path / "log"), verbose)
    text, file = capsys.readouterr().out, (tmp_path / "log").read_text()
    for beginning in FILE_ONLY:
        assert f"INFO - {beginning}..." in file
        assert (f"{beginning}..." in text) == (verbose or beginning == "Config:\n")  # "no Config:" has it within
    assert "effective batch 8..." in text
    assert "no Config:\n..." in text


def test_loggers_are_as_before_afterwards(capsys):
    call = MMLogger.callHandlers
    logger = MMLogger.get_instance("console-made-before")
    with short_console():
        logger.info("Config:\nhidden")
    assert MMLogger.callHandlers is call
    logger.info("Config:\nshown")
    assert capsys.readouterr().out.count("Config:") == 1


def test_weights_are_found_wherever_the_model_names_them():
    model = {
        "backbone": {"init_cfg": {"type": "csan_mm.Pretrained", "checkpoint": "a.pth", "source": "ms-swin"}},
        "neck": [{"init_cfg": [{"type": "Xavier"}, {"type": "Pretrained", "checkpoint": "https://x/b.pth"}]}],
        "head": {"init_cfg": {"type": "Normal", "checkpoint": "c.pth"}},
    }
    assert _pretrained(model) == ["a.pth", "https://x/b.pth"]
