"""csan_mm: OpenMMLab backbones built on four published token mixers (CSaN, MALA, WeightFormer, CBSA).

Importing it registers everything; ``custom_imports = dict(imports=['csan_mm'])`` is all a config needs.
"""

from importlib import util as _util

from csan_mm.commands import answers_at_once as _answers_at_once
from csan_mm.common.install import install_command as _install_command
from csan_mm.version import __version__

# `csan_mm doctor` has to answer where the imports below fail, and `csan_mm --help` does not wait for them.
if not _answers_at_once():
    if _util.find_spec("mmengine") is None:
        raise ImportError(
            "csan_mm needs the OpenMMLab packages, and mmengine is not installed. Install one of their two lines: "
            f"{_install_command('onedl')} (the maintained one), or {_install_command('openmmlab')} (the original packages)."
        )

    from csan_mm.ops import ext as _ext

    # Before anything imports mmcv.ops: where no compiled mmcv._ext exists, torchvision's operators stand in for it.
    _ext.install()

    from csan_mm.common.package_configs import serve_package_configs as _serve_package_configs

    _serve_package_configs()

    from csan_mm import backbones, checkpoint, engine, necks
    from csan_mm.own_data import new_config
    from csan_mm.zoo import get_backbone, list_models

__all__ = ["__version__", "backbones", "checkpoint", "engine", "get_backbone", "list_models", "necks", "new_config"]
