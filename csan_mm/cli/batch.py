"""The effective batch of a training and the learning rate that belongs to it."""

from mmengine.config import Config

from csan_mm.common.errors import UserError


def scale_learning_rate(cfg: Config) -> None:
    """Let the Runner scale the learning rate linearly from the batch the config was written for to the actual one.

    Raises:
        UserError: The config does not say for which batch it was written.
    """
    if not (cfg.get("auto_scale_lr") or {}).get("base_batch_size"):
        raise UserError(
            f"--auto-scale-lr needs auto_scale_lr = dict(base_batch_size=...) in {cfg.filename}: the batch its learning rate "
            f"is for"
        )
    cfg.auto_scale_lr.enable = True


def describe_batch(cfg: Config, processes: int) -> str:
    """One line: the batch as it is, the one the config is for, and the learning rate.

    Args:
        cfg: The config of the training.
        processes: How many processes train together.
    """
    loader, wrapper = cfg.train_dataloader, cfg.optim_wrapper
    images = loader.get("batch_size") or (loader.get("batch_sampler") or {}).get("batch_size") or 1
    accumulated = wrapper.get("accumulative_counts", 1)
    factors = [f"{processes} process{'es' * (processes > 1)}", f"{images} image{'s' * (images > 1)}"]
    factors += [f"{accumulated} accumulated steps"] if accumulated > 1 else []
    batch = f"effective batch {processes * images * accumulated} = {' x '.join(factors)}"
    rate = (wrapper.get("optimizer") or {}).get("lr")
    return f"{batch}; {_describe_rate(rate, processes * images, cfg.get('auto_scale_lr') or {})}"


def _describe_rate(rate: float | None, batch: int, scaling: dict) -> str:
    base = scaling.get("base_batch_size")
    if rate is None:
        return "the optimizer's learning rate is its own default"
    if base is None:
        return f"learning rate {rate:g}; the config does not say for which batch (auto_scale_lr.base_batch_size)"
    if base == batch:
        return f"learning rate {rate:g}, for a batch of {base} as here"
    scaled = f"{rate * batch / base:g}"
    if scaling.get("enable"):
        return f"learning rate {rate:g} for a batch of {base}, scaled to {scaled} for one of {batch}"
    return f"learning rate {rate:g} is for a batch of {base} and is NOT scaled: --auto-scale-lr would make it {scaled}"
