"""teacher.json: {"images", "labels", "targets", "mean", "std", "pool", "teacher", "shown", "cases":
[{"name", "config", "smoothing", "mixed", "loss", "gradients"}, ...]}: hard distillation as DeiT's equation 3 writes it (arXiv 2012.12877),
half the cross entropy of the class token's logits and the labels, half that of the distillation token's and the class
that the teacher gives the image.

Images are normalised by mean and std; "teacher" is {"config", "mean", "std", "said"}: its own, and its classes of the
"shown" has, of teachers of other sizes, the config and the images as those take them: resized by PyTorch's interpolate
(bilinear, antialias). In a case whose "mixed" is true the labels' half is that of "targets", shares of the classes. `smoothing` is
label smoothing, of the labels alone. A student without the token answers both by its one head. A parameter's values
are golden_switches.py's.
"""

import torch
import torch.nn.functional as F

from make_golden import generator, normalised, packed, randn, tensor
from golden_switches import BASE, POOL, Vit

MEAN, STD = [0.45, 0.55], [0.3, 0.2]
TEACHER = {**BASE, "P": 2, "D": 12, "h": 3, "L": 3, "mean_pooling": True}
TEACHER_MEAN, TEACHER_STD = [0.25, 0.5], [0.5, 0.25]
LABELS = [2, 0, 1, 1, 0, 2]


def cases():
    yield "with the token", {"distilled": True}, 0.0, False
    yield "with the token, smoothed labels", {"distilled": True}, 0.1, False
    yield "with the token, mixed images", {"distilled": True, "registers": 1}, 0.1, True
    yield "without the token", {"mean_pooling": True}, 0.1, False


def make():
    stream = generator("teacher")
    pool = randn(stream, POOL)
    pixels = torch.rand(len(LABELS), BASE["C"], BASE["H"], BASE["W"], generator=stream)
    targets = torch.softmax(randn(stream, len(LABELS), BASE["K"]), 1)
    images = normalised(pixels, MEAN, STD)
    with torch.no_grad():
        said = Vit(TEACHER, pool, None)(normalised(pixels, TEACHER_MEAN, TEACHER_STD)).argmax(1)
        unlike = Vit(TEACHER, pool, None)(images).argmax(1)
    assert len(set(said.tolist())) > 1 and said.tolist() != LABELS and said.tolist() != unlike.tolist()
    labels, written, shown = torch.tensor(LABELS), [], []
    for H, W, P in (6, 15, 3), (10, 20, 5), (5, 25, 5):
        resized = F.interpolate(pixels, (H, W), mode="bilinear", align_corners=False, antialias=True)
        shown.append({"config": {**BASE, "H": H, "W": W, "P": P},
                      "images": packed(normalised(resized, TEACHER_MEAN, TEACHER_STD), "f64")})
    for name, switches, smoothing, mixed in cases():
        student = Vit({**BASE, **switches}, pool, None)
        logits = student(images)
        of_class, of_token = student.both if switches.get("distilled") else (logits, logits)
        loss = (0.5 * F.cross_entropy(of_class, targets if mixed else labels, label_smoothing=smoothing)
                + 0.5 * F.cross_entropy(of_token, said))
        loss.backward()
        written.append({"name": name, "config": {**BASE, **switches}, "smoothing": smoothing, "mixed": mixed,
                        "loss": loss.item(), "gradients": {n: packed(p.grad, "f64") for n, p in student.p.items()}})
    return {"images": tensor(images), "labels": LABELS, "targets": tensor(targets), "mean": MEAN, "std": STD,
            "pool": tensor(pool), "teacher": {"config": TEACHER, "mean": TEACHER_MEAN, "std": TEACHER_STD,
                                              "said": said.tolist()}, "shown": shown, "cases": written}
