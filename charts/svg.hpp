#pragma once

#include "vitruvian/charts/chart.hpp"

#include <string>
#include <string_view>

// Charts as SVG: real text of at least 11 pixels, pictures as PNG inside of it, no scripts, nothing
// from elsewhere. Light or dark as the reader's system is set.

namespace vitruvian {

/// Text as HTML and SVG show it, in elements and in quoted attributes: the five characters with a
/// meaning are escaped, control characters and what is no UTF-8 become U+FFFD.
std::string html_escaped(std::string_view text);

/// "data:image/png;base64,..." of a file's bytes.
std::string data_uri(std::string_view media_type, std::string_view bytes);

/// The styles of every svg of the class "chart": a page has them once.
std::string chart_style();

/// The drawing as an svg element for such a page: axes, legends, and under the pointer the values
/// at that place. It is never shrunk until its letters are illegible. Charts without any number are
/// left out; a drawing of nothing else is empty.
std::string svg_of(const Drawing& drawing);

/// The same as a file that stands alone.
std::string svg_file(const Drawing& drawing);

}  // namespace vitruvian
