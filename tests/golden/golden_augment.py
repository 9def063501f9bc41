"""augment.json: {"pictures": [{"height", "width", "channels", "pixels"}, ...], "ops": [{"op",
"picture": index, "magnitude", "pixels"}, ...], "magnitudes": [{"height", "width", "bin",
"values": {op: magnitude}}, ...], "crops": [{"picture", "box": [top, left, height, width], "size",
"pixels"}, ...]}.

`ops` is what torchvision's RandAugment does to a Pillow picture, `magnitudes` its own table, `crops`
its resized_crop. Pixels are base64 of (C, H, W).
"""

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode, RandAugment
from torchvision.transforms import functional as F
from torchvision.transforms.autoaugment import _apply_op

from golden_format import dump
from golden_pictures import b64, picture

NAMES = {"identity": "Identity", "shear_x": "ShearX", "shear_y": "ShearY",
         "translate_x": "TranslateX", "translate_y": "TranslateY", "rotate": "Rotate",
         "brightness": "Brightness", "color": "Color", "contrast": "Contrast",
         "sharpness": "Sharpness", "posterize": "Posterize", "solarize": "Solarize",
         "autocontrast": "AutoContrast", "equalize": "Equalize"}


def planes(image):
    array = np.asarray(image)
    return b64((array[None] if array.ndim == 2 else array.transpose(2, 0, 1)).tobytes())


def augmentation_space(image):
    """torchvision's table as its users have it: its `linspace` counts in PyTorch's default type."""
    given = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        return RandAugment()._augmentation_space(31, (image.height, image.width))
    finally:
        torch.set_default_dtype(given)


def make():
    arrays = [picture(1, 20, 17, 3, 200), picture(2, 11, 14, 1), picture(3, 24, 25, 3)]
    images = [Image.fromarray(a.squeeze().astype(np.uint8)) for a in arrays]
    pictures = [{"height": i.height, "width": i.width, "channels": len(i.getbands()),
                 "pixels": planes(i)} for i in images]
    ops, magnitudes = [], []
    for index, image in enumerate(images):
        for level in (0, 3, 9, 30):
            space = augmentation_space(image)
            space_of = {n: space[t] for n, t in NAMES.items()}
            values = {n: float(m[level]) if m.ndim > 0 else 0.0 for n, (m, _) in space_of.items()}
            magnitudes.append({"height": image.height, "width": image.width, "bin": level,
                               "values": values})
            if level == 0 or (index == 2 and level == 3):
                continue
            for name, (table, signed) in space_of.items():
                if table.ndim == 0 and level != 9:
                    continue
                for sign in (1, -1) if signed else (1,):
                    out = _apply_op(image, NAMES[name], sign * values[name],
                                    InterpolationMode.NEAREST, None)
                    ops.append({"op": name, "picture": index, "magnitude": sign * values[name],
                                "pixels": planes(out)})
    crops = []
    for index, box, size in ((0, (3, 2, 11, 9), (20, 17)), (2, (0, 0, 24, 25), (24, 25)),
                             (2, (5, 7, 15, 18), (24, 25)), (2, (1, 2, 22, 21), (8, 12)),
                             (1, (0, 1, 1, 13), (11, 14))):
        out = F.resized_crop(images[index], *box, list(size), InterpolationMode.BILINEAR)
        crops.append({"picture": index, "box": list(box), "size": list(size),
                      "pixels": planes(out)})
    return dump({"pictures": pictures, "ops": ops, "magnitudes": magnitudes, "crops": crops})
