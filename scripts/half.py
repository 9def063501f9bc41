#!/usr/bin/env python3
"""half.py FROM TO: a safetensors file of float32 with its numbers rounded to float16."""
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    data = file.read()
parts, at = [], 0
for name, tensor in header.items():
    if name == "__metadata__":
        continue
    if tensor["dtype"] != "F32":
        sys.exit(f"{name} is {tensor['dtype']}: only F32 becomes F16")
    begin, end = tensor["data_offsets"]
    count = (end - begin) // 4
    parts.append(struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", data[begin:end])))
    tensor["dtype"], tensor["data_offsets"] = "F16", [at, at + 2 * count]
    at += 2 * count
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
