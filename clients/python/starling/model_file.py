"""The file of a model that a run leaves: starling.load(FILE), or into a module of PyTorch."""
from __future__ import annotations

from typing import Any, Dict, List, Union

from .kept import tensors_in


def load(path: str, model: Any = None) -> Union[Dict[str, Any], List[str]]:
    """The tensors in a file of safetensors by name, as arrays of numpy; bf16 as its bits, u2.

    With a module of PyTorch they are copied into its tensors of those names, and the names of the
    others are returned: what was frozen or `local` is not in the file. Raises ValueError where the
    file has a name that the module lacks, or another shape.
    """
    with open(path, "rb") as file:
        _, arrays = tensors_in(bytearray(file.read()))
    if model is None:
        return arrays
    import torch
    held = model.state_dict()
    strange = sorted(set(arrays) - set(held))
    if strange:
        raise ValueError(f"{path} has tensors that the model lacks: {', '.join(strange[:5])}; the "
                         f"model has {', '.join(list(held)[:5])}")
    with torch.no_grad():
        for name, array in arrays.items():
            if tuple(held[name].shape) != array.shape:
                raise ValueError(f"{name} has shape {array.shape} in {path} and "
                                 f"{tuple(held[name].shape)} in the model")
            given = torch.from_numpy(array)
            is_half = held[name].dtype == torch.bfloat16 and array.dtype.str == "<u2"
            held[name].copy_(given.view(torch.int16).view(torch.bfloat16) if is_half else given)
    return [name for name in held if name not in arrays]
