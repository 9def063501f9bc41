#!/usr/bin/python3
"""Writes charts/colour_table.inc: matplotlib's viridis, and the eleven colours of ColorBrewer's RdBu.

Needs python3-matplotlib."""
import pathlib
import sys

import matplotlib


def table(name, rows):
    text = "".join("%02x" % round(255 * v) for row in rows for v in row)
    lines = ['    "' + text[i:i + 90] + '"' for i in range(0, len(text), 90)]
    return f"constexpr std::string_view {name}_table =\n" + "\n".join(lines) + ";\n"


def main():
    charts = pathlib.Path(__file__).resolve().parent.parent / "charts"
    (charts / "colour_table.inc").write_text(
        "// Made by scripts/make_colour_table.py.\n"
        "// viridis: Stefan van der Walt and Nathaniel Smith for matplotlib, CC0.\n"
        "// RdBu: www.ColorBrewer.org by Cynthia A. Brewer, Geography, Pennsylvania State University.\n"
        + table("viridis", matplotlib.colormaps["viridis"].colors)
        + table("blue_red", matplotlib._cm._RdBu_data[::-1]))


if __name__ == "__main__":
    sys.exit(main())
