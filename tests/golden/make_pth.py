#!/usr/bin/env python3
"""Makes the small files of PyTorch's that tests/nn/pth_test.cpp reads, in tests/golden/pth:

    /usr/bin/python3 tests/golden/make_pth.py

Made with PyTorch 1.13.1 (Debian's python3-torch). expected.json holds what state.pth and checkpoint.pth
must be read as: {file: {name: {"shape", "values"}}}, values null where they are integers.
"""

import collections
import json
import pathlib

import torch

FOLDER = pathlib.Path(__file__).with_name("pth")


def listed(tensors):
    return {name: {"shape": list(t.shape),
                   "values": t.double().flatten().tolist() if t.is_floating_point() else None}
            for name, t in tensors.items()}


def main():
    torch.manual_seed(20)
    FOLDER.mkdir(exist_ok=True)
    both = torch.randn(4, 3)
    state = collections.OrderedDict(
        single=torch.randn(2, 3), half=torch.randn(3).half(), brain=torch.randn(3).bfloat16(),
        double=torch.randn(2, dtype=torch.float64), index=torch.arange(3), none=torch.zeros(0, 5),
        scalar=torch.tensor(7.0), transposed=torch.randn(3, 4).t(), first=both[:1], last=both[1:],
        channels_last=torch.randn(2, 3, 2, 2).to(memory_format=torch.channels_last),
        parameter=torch.nn.Parameter(torch.randn(2)),
        channels_last_row=torch.arange(24.0).reshape(2, 3, 1, 4).to(memory_format=torch.channels_last))
    state["tied"] = state["single"]
    torch.save(state, FOLDER / "state.pth")

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    checkpoint = {"epoch": 3, "lr": 1e-3, "name": "a run", "done": False, "model": model.state_dict(),
                  "optimizer": optimizer.state_dict(), "sizes": [1, (2, 3)]}
    torch.save(checkpoint, FOLDER / "checkpoint.pth", pickle_protocol=4)

    torch.save(model, FOLDER / "module.pth")
    torch.save(model.state_dict(), FOLDER / "before_1_6.pth", _use_new_zipfile_serialization=False)
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), FOLDER / "script.pt")
    torch.save({"a": torch.randn(4, 4)[:, :2]}, FOLDER / "view.pth")
    torch.save({"a": torch.randn(1, 4).expand(3, 4)}, FOLDER / "expanded.pth")
    expected = {"state.pth": listed(state), "checkpoint.pth": listed(model.state_dict())}
    (FOLDER / "expected.json").write_text(json.dumps(expected) + "\n")
    for path in sorted(FOLDER.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
