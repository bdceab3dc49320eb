"""What a trainer wants to find again when it comes back, as bytes, and back.

The bytes are a safetensors file: the tensors, and in its metadata `tree`, the plain data around
them as JSON. Nothing in it is code, for the bytes may come from another node.
"""
from __future__ import annotations

import json
import math
import struct
import sys
import types
from typing import Any, Dict, List, Tuple

FORMAT = "starling.kept 1"
HEADER_BYTES_LIMIT = 64 << 20
_NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
          "I8": "|i1", "U8": "|u1", "BOOL": "|b1", "BF16": "<u2"}
_NAMES = {name: code for code, name in _NUMPY.items() if code != "BF16"}


def encode(tree: Any) -> List[Any]:
    """The file's parts: bytes, and arrays of bytes that share the tensors' memory. Raises TypeError
    for what is neither plain data nor a dense tensor."""
    tensors: List[Any] = []
    plain = json.dumps(_plain(tree, tensors, "state"), allow_nan=False)
    header: Dict[str, Any] = {"__metadata__": {"format": FORMAT, "tree": plain}}
    end = 0
    for place, array in enumerate(tensors):
        header[str(place)] = {"dtype": _NAMES[array.dtype.str], "shape": list(array.shape),
                              "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 64)
    arrays = [array.reshape(-1).view("u1") for array in tensors if array.nbytes > 0]
    return [struct.pack("<Q", len(text)) + text] + arrays


def decode(memory: Any) -> Any:
    """The tree. Its tensors alias `memory`, which must be writable where they are to be changed.
    Raises ValueError for bytes that are no such file."""
    try:
        metadata, arrays = tensors_in(memory)
        if metadata["format"] != FORMAT:
            raise ValueError(f"its format is {metadata['format']!r}; expected {FORMAT!r}")
        return _tree(json.loads(metadata["tree"]), {int(name): a for name, a in arrays.items()})
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"not a state that a trainer has kept: {error!r}") from None


def tensors_in(memory: Any) -> Tuple[Dict[str, str], Dict[str, Any]]:
    """The metadata of a safetensors file, and its arrays by name, which alias `memory`. Raises
    ValueError for bytes that are no such file, or that can be read in two ways."""
    import numpy
    try:
        size, = struct.unpack_from("<Q", memory, 0)
        if size > min(HEADER_BYTES_LIMIT, len(memory) - 8):
            raise ValueError(f"its header is said to have {size} bytes")
        header = json.loads(bytes(memory[8:8 + size]), object_pairs_hook=_without_repeats)
        metadata, arrays, taken = header.pop("__metadata__", {}), {}, 0
        for name, row in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            begin, end = row["data_offsets"]
            array = numpy.frombuffer(memory, dtype=_NUMPY[row["dtype"]],
                                     count=math.prod(row["shape"]), offset=8 + size + begin)
            if array.nbytes != end - begin or begin != taken:
                raise ValueError(f"tensor {name} of {array.nbytes} bytes lies from {begin} to "
                                 f"{end}; expected from {taken} on")
            taken = end
            arrays[name] = array.reshape(row["shape"])
        if 8 + size + taken != len(memory):
            raise ValueError(f"{len(memory) - 8 - size - taken} bytes at its end are of no tensor")
        return metadata, arrays
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError,
            struct.error) as error:
        raise ValueError(f"not a safetensors file: {error!r}") from None


def _without_repeats(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("it names a tensor twice")
    return names


def _plain(value: Any, tensors: List[Any], where: str) -> Any:
    """`value` as JSON has it; what JSON lacks is an object of one key. Functions in a dictionary,
    as of OneCycleLR, are left out."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        return [_plain(item, tensors, f"{where}[{k}]") for k, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": [_plain(item, tensors, f"{where}[{k}]") for k, item in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[_plain(key, tensors, where), _plain(item, tensors, f"{where}[{key!r}]")]
                         for key, item in value.items()
                         if not isinstance(item, (types.FunctionType, types.MethodType))]}
    return _tensor(value, tensors, where)


def _tensor(value: Any, tensors: List[Any], where: str) -> Any:
    import numpy
    torch = sys.modules.get("torch")
    kind = "array"
    if torch is not None and torch.is_tensor(value) and value.layout == torch.strided:
        kind = "tensor"
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16:
            kind, value = "bfloat16", value.view(torch.int16)
        value = value.numpy()
    if isinstance(value, numpy.generic):
        value = numpy.asarray(value)
    if not isinstance(value, numpy.ndarray) or value.dtype.str not in _NAMES:
        raise TypeError(f"{where} is {type(value).__name__}; kept are numbers, texts, lists, "
                        "dictionaries and dense tensors")
    shape = value.shape
    tensors.append(numpy.ascontiguousarray(value).reshape(shape))
    return {kind: len(tensors) - 1}


def _tree(value: Any, arrays: Dict[int, Any]) -> Any:
    if isinstance(value, list):
        return [_tree(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "float":
        return float(inner)
    if kind == "tuple":
        return tuple(_tree(item, arrays) for item in inner)
    if kind == "dict":
        return {_tree(key, arrays): _tree(item, arrays) for key, item in inner}
    if kind == "array":
        return arrays[inner]
    if kind not in ("tensor", "bfloat16"):
        raise ValueError(f"not a state that a trainer has kept: {kind!r} in it")
    import torch
    tensor = torch.from_numpy(arrays[inner])
    return tensor.view(torch.bfloat16) if kind == "bfloat16" else tensor
