"""The imports that are tried, in the order in which they are tried, and the code that tries them in a process of its own."""

#: Begins the runner's own lines; no package prints it.
MARK = "csan_mm doctor: "

#: Reads name -> code as JSON from stdin, runs the pieces, and reports each on a line of JSON.
RUNNER = """
import json, sys, traceback
for name, code in json.load(sys.stdin).items():
    space, error, trace = {}, "", ""
    try:
        exec(code, space)
    except BaseException as caught:
        trace = traceback.format_exc()
        error = traceback.format_exception_only(type(caught), caught)[-1].strip()
    report = {"end": name, "facts": space.get("facts", {}), "error": error, "trace": trace}
    sys.stdout.write("\\n" + MARK + json.dumps(report) + "\\n")
    sys.stdout.flush()
"""

#: mmcv._ext is looked for before csan_mm is imported, which serves one where there is none.
STEPS = {
    "torch": """
import torch
facts = {
    "built": torch.version.cuda,
    "cuda": torch.cuda.is_available(),
    "names": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
}
""",
    "torchvision": "import torch, torchvision; torchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)",
    "numpy": "import numpy, torch; torch.from_numpy(numpy.ones(1))",
    "pycocotools": "import numpy, pycocotools.mask",
    "cv2": "import cv2",
    "mmcv._ext": """
import importlib.util
facts = {"compiled": importlib.util.find_spec("mmcv._ext") is not None}
if facts["compiled"]:
    import torch, mmcv._ext
""",
    "stand-in": "import csan_mm, mmcv.ops",
    "mmdet": "import mmdet, mmdet.registry",
    "mmseg": "import mmseg, mmseg.registry",
    "mmpretrain": "import mmpretrain, mmpretrain.registry",
}
