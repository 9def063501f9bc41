#pragma once

#include "lessons/telling/narrate.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vitruvian::lessons {

/// The flags that every lesson takes.
struct Options {
  bool step = false;
  bool ascii = false;
  bool plain = false;
  bool json = false;
  bool html = false;  ///< hidden: for the book
  bool markdown = false;
  bool all = false;
  bool no_input = false;
  std::string figures;    ///< a folder for a page's figures; "": they are text
  bool describe = false;  ///< hidden: prints what tests need to know
  std::size_t width = 0;  ///< 0: the terminal's, at most 80
  std::uint64_t seed = 1;
  std::string broken;        ///< the name after --break
  std::vector<double> play;  ///< the values after --play, one for each slider
  std::string fault;         ///< hidden: "op:kind[:input]", as in Break
  std::string done_file;     ///< hidden: written when the lesson was read to its end
  /// Hidden: a folder that gets the lesson in every form, from this one run: plain, ascii, narrow,
  /// page.md, json.
  std::string forms;
};

/// Reads the flags; none where they asked for help, which is printed then. Throws (Exit::usage),
/// with the nearest name for a flag that does not exist.
std::optional<Options> parse_options(int argc, char** argv, const Entry& entry,
                                     const Lesson& lesson);

/// Thrown when the reader leaves at a prompt.
struct Quit {};

/// Where a lesson is shown: writes events to standard output and, with --step on a terminal, waits
/// between pieces, with the ones before at hand. A piece ends at a heading, or where the next event
/// would no longer be on the screen with it.
class Stage {
 public:
  Stage(const Options& options, std::string source);

  void show(const Event& event);
  /// Shows a question; where somebody is there to answer, its answer only after Enter.
  void ask(const Remark& question);
  /// A new piece begins at this line of the lesson's source. Throws `Quit`.
  void next_piece(std::size_t line);
  /// Shows what is pending.
  void flush();

 private:
  struct Piece {
    std::string text;
    std::size_t first_line = 0;  // of its heading, in the source
  };
  void turn_page();
  void look_around();
  void show_source(const Piece& piece) const;

  // What goes to a file, beside what is shown.
  struct Form {
    std::unique_ptr<Writer> writer;
    std::ofstream out;
  };

  std::unique_ptr<Writer> writer_;
  std::vector<Form> forms_;
  std::string source_;
  bool can_ask_ = false;
  bool step_ = false;
  std::size_t lines_ = 0;  // of a piece, so that the prompt below it is on the screen too
  Piece piece_;
  std::size_t shown_ = 0;  // of piece_.text
  std::vector<Piece> history_;
};

}  // namespace vitruvian::lessons
