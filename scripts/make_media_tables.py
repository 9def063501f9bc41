#!/usr/bin/python3
"""Writes media/font_table.inc and media/colour_table.inc: letters and colours as data.

Needs python3-pil, fonts-dejavu-core and python3-matplotlib. The letters are DejaVu Sans at 20 pixels,
its alpha in 16 steps; the colours are matplotlib's viridis, and the eleven of ColorBrewer's RdBu.
"""
import pathlib
import sys

import matplotlib
from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
SIZE, BASELINE = 20, 19
LETTERS = "".join(map(chr, range(32, 127))) + "°²·×αβσ∂∇−≤…"


def glyph(font, letter):
    sheet = Image.new("L", (3 * SIZE, 2 * SIZE), 0)
    ImageDraw.Draw(sheet).text((SIZE, BASELINE), letter, fill=255, font=font, anchor="ls")
    box = sheet.getbbox() or (SIZE, BASELINE, SIZE, BASELINE)
    pixels = "".join("%x" % ((v * 15 + 127) // 255) for v in sheet.crop(box).tobytes())
    advance = round(font.getlength(letter))
    return (f'    {{0x{ord(letter):04x}, {advance}, {box[0] - SIZE}, {box[1]}, {box[2] - box[0]},'
            f' {box[3] - box[1]},\n' + quoted(pixels, 6) + "},\n")


def quoted(text, indent):
    lines = [text[i:i + 90] for i in range(0, len(text), 90)] or [""]
    return "\n".join(" " * indent + '"' + line + '"' for line in lines)


def main():
    media = pathlib.Path(__file__).resolve().parent.parent / "media"
    font = ImageFont.truetype(FONT, SIZE, layout_engine=ImageFont.Layout.BASIC)
    header = "// Made by scripts/make_media_tables.py.\n"
    licence = ("// DejaVu Sans: Copyright (c) 2003 by Bitstream, Inc. All Rights Reserved. Bitstream Vera is\n"
               "// a trademark of Bitstream, Inc. DejaVu changes are in public domain.\n")
    (media / "font_table.inc").write_text(
        header + licence + "".join(glyph(font, letter) for letter in sorted(LETTERS)))

    def hex_of(rows):
        return "".join("%02x" % round(255 * v) for row in rows for v in row)

    viridis = matplotlib.colormaps["viridis"].colors
    rdbu = matplotlib._cm._RdBu_data[::-1]
    source = ("// viridis: Stefan van der Walt and Nathaniel Smith for matplotlib, CC0.\n"
              "// RdBu: www.ColorBrewer.org by Cynthia A. Brewer, Geography, Pennsylvania State University.\n")
    (media / "colour_table.inc").write_text(
        header + source + "constexpr std::string_view viridis_table =\n" + quoted(hex_of(viridis), 4) +
        ";\nconstexpr std::string_view blue_red_table =\n" + quoted(hex_of(rdbu), 4) + ";\n")


if __name__ == "__main__":
    sys.exit(main())
