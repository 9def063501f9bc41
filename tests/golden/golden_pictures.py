"""pictures.json: {"files": [{"name", "bytes" (base64), "height", "width", "channels", "pixels"
(base64), "tolerance"}, ...], "cmyk", "fits": [...], "augment"}.

`files` are small pictures in every kind that is read, and the pixels they mean: known by
construction for PNG and PNM, decoded by Pillow for JPEG. Pillow writes neither 16-bit colour nor
interlaced PNG: a writer of its own is here. `fits` holds pictures resized and cropped by Pillow as
torchvision's reference transforms call it: {"filter", "crop", "size": [h, w], "source": index into
`files`, "pixels"}.

"augment" is {"pictures": [{"height", "width", "channels", "pixels"}, ...], "ops": [{"op", "picture": index,
"magnitude", "pixels"}, ...], "magnitudes": [{"height", "width", "bin", "values": {op: magnitude}}, ...], "crops":
[{"picture", "box": [top, left, height, width], "size", "pixels"}, ...]}: `ops` is what torchvision's RandAugment
does to a Pillow picture, `magnitudes` its own table, `crops` its resized_crop. Pixels are those of (C, H, W).
"""

import base64
import io
import struct
import zlib

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import InterpolationMode, RandAugment, functional
from torchvision.transforms.autoaugment import _apply_op

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def b64(data):
    return base64.b64encode(bytes(data)).decode()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def rows_of(samples, depth):
    """(h, w, n) samples as unfiltered scan lines."""
    lines = b""
    for line in samples.reshape(samples.shape[0], -1):
        if depth == 16:
            packed = line.astype(">u2").tobytes()
        else:
            bits = "".join(format(int(v), f"0{depth}b") for v in line)
            bits += "0" * (-len(bits) % 8)
            packed = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
        lines += b"\0" + packed
    return lines


def png(samples, colour, depth, interlaced=False, extra=b""):
    h, w = samples.shape[:2]
    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7]
        data = b"".join(rows_of(p, depth) for p in parts if p.size)
    else:
        data = rows_of(samples, depth)
    header = struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
            + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


def picture(seed, h, w, n, top=255):
    """Smooth with a little noise, so that JPEG and resizing have something to do."""
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[0:h, 0:w]
    waves = [np.sin((k + 1) * x / 7 + k) + np.cos((k + 2) * y / 5) for k in range(n)]
    values = (np.stack(waves, -1) + 2) / 4 + 0.1 * rng.standard_normal((h, w, n))
    return np.clip(np.round(values * top), 0, top).astype(int)


def pillow(array, kind, **how):
    stream = io.BytesIO()
    mode = {1: "L", 3: "RGB", 4: "CMYK"}[array.shape[2]]
    array = array[..., 0] if mode == "L" else array
    Image.fromarray(array.astype(np.uint8), mode).save(stream, kind, **how)
    return stream.getvalue()


def files():
    result = []

    def add(name, data, pixels, tolerance=0):
        h, w, n = pixels.shape
        result.append({"name": name, "bytes": b64(data), "height": h, "width": w, "channels": n,
                       "pixels": b64(pixels.astype(np.uint8).tobytes()), "tolerance": tolerance})

    rgb, grey = picture(1, 19, 23, 3), picture(2, 11, 10, 1)
    add("rgb.png", png(rgb, 2, 8), rgb)
    add("grey.png", png(grey, 0, 8), grey)
    add("rgb_interlaced.png", png(rgb, 2, 8, True), rgb)
    add("grey_interlaced_1x1.png", png(grey[:1, :1], 0, 8, True), grey[:1, :1])
    for depth in (1, 2, 4):
        low = picture(3, 9, 13, 1, 2**depth - 1)
        add(f"grey_{depth}.png", png(low, 0, depth), low * (255 // (2**depth - 1)))
    rgba, la = picture(4, 8, 9, 4), picture(5, 8, 9, 2)
    add("rgba.png", png(rgba, 6, 8), rgba[..., :3])
    add("grey_alpha.png", png(la, 4, 8), la[..., :1])
    deep, deep_grey = picture(6, 6, 7, 4, 65535), picture(7, 6, 7, 1, 65535)
    add("rgb_16.png", png(deep[..., :3], 2, 16), np.round(deep[..., :3] / 257).astype(int))
    add("rgba_16_interlaced.png", png(deep, 6, 16, True), np.round(deep[..., :3] / 257).astype(int))
    add("grey_16.png", png(deep_grey, 0, 16), np.round(deep_grey / 257).astype(int))
    palette = picture(8, 1, 16, 3)[0]
    index = picture(9, 7, 9, 1, 15)
    plte = chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    add("palette_4.png", png(index, 3, 4, extra=plte), palette[index[..., 0]])
    trns = chunk(b"tRNS", bytes(range(0, 160, 10)))
    add("palette_transparent.png", png(index, 3, 8, extra=plte + trns), palette[index[..., 0]])
    add("colour_key.png", png(rgb, 2, 8, extra=chunk(b"tRNS", struct.pack(">HHH", *rgb[0, 0]))), rgb)

    add("grey.pgm", b"P5\n# a comment\n10 11\n255\n" + grey.astype(np.uint8).tobytes(), grey)
    add("rgb.ppm", b"P6 23 19 255\n" + rgb.astype(np.uint8).tobytes(), rgb)
    add("grey_16.pgm", b"P5 7 6 65535\n" + deep_grey.astype(">u2").tobytes(),
        (deep_grey * 255 + 32767) // 65535)
    add("grey_15.pgm", b"P5 9 7\t15\n" + index.astype(np.uint8).tobytes(), index * 17)

    for name, array, how in (("rgb.jpg", rgb, {}), ("grey.jpg", grey, {}),
                             ("rgb_444.jpg", rgb, {"subsampling": 0, "quality": 95}),
                             ("rgb_progressive.jpg", rgb, {"progressive": True})):
        data = pillow(array, "JPEG", **how)
        decoded = np.asarray(Image.open(io.BytesIO(data)))
        add(name, data, decoded.reshape(array.shape), 1)
    large = picture(10, 61, 47, 3)
    add("large.ppm", b"P6 47 61 255\n" + large.astype(np.uint8).tobytes(), large)
    flat = picture(11, 30, 100, 1)
    add("flat.pgm", b"P5 100 30 255\n" + flat.astype(np.uint8).tobytes(), flat)
    cmyk = pillow(picture(12, 8, 8, 4), "JPEG")
    return result, b64(cmyk)


def fit(image, size, how, crop):
    """torchvision.transforms: Resize((h, w)), or Resize(round(256 / 224 s)) and CenterCrop(s)."""
    if not crop:
        return image.resize((size[1], size[0]), how)
    shorter = round(min(size) * 256 / 224)
    w, h = image.size
    if w < h:
        w, h = shorter, int(shorter * h / w)
    else:
        w, h = int(shorter * w / h), shorter
    image = image.resize((w, h), how)
    top, left = int(round((h - size[0]) / 2.0)), int(round((w - size[1]) / 2.0))
    return image.crop((left, top, left + size[1], top + size[0]))


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


def augmented():
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
        out = functional.resized_crop(images[index], *box, list(size), InterpolationMode.BILINEAR)
        crops.append({"picture": index, "box": list(box), "size": list(size),
                      "pixels": planes(out)})
    return {"pictures": pictures, "ops": ops, "magnitudes": magnitudes, "crops": crops}


def make():
    pictures, cmyk = files()
    fits = []
    for name, size, crop in (("large.ppm", (28, 28), False), ("large.ppm", (32, 32), True),
                             ("large.ppm", (70, 90), False), ("large.ppm", (21, 21), True),
                             ("large.ppm", (61, 47), False), ("flat.pgm", (28, 28), False),
                             ("flat.pgm", (16, 16), True), ("rgb.ppm", (28, 28), True),
                             ("rgb_444.jpg", (9, 9), True)):
        source = next(i for i, p in enumerate(pictures) if p["name"] == name)
        p = pictures[source]
        raw = np.frombuffer(base64.b64decode(p["pixels"]), np.uint8).reshape(p["height"], p["width"], -1)
        for mode in ("L", "RGB"):
            image = Image.fromarray(raw[..., 0] if raw.shape[2] == 1 else raw).convert(mode)
            for how, label in ((Image.BILINEAR, "bilinear"), (Image.BICUBIC, "bicubic")):
                done = np.asarray(fit(image, size, how, crop))
                fits.append({"source": source, "filter": label, "crop": crop, "size": size,
                             "channels": len(mode), "pixels": b64(done.tobytes())})
    return {"files": pictures, "cmyk": cmyk, "fits": fits, "augment": augmented()}
