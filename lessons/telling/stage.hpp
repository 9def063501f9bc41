#pragma once

#include "lessons/telling/options.hpp"
#include "lessons/telling/render.hpp"

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace vitruvian::lessons {

/// Thrown when the reader leaves at a prompt.
struct Quit {};

/// Where a lesson is shown: renders events to standard output and, with
/// --step on a terminal, waits between pieces, with the ones before at hand.
class Stage {
 public:
  Stage(const Options& options, std::string source);

  void show(const Event& event);
  /// A new piece begins at this line of the lesson's source.
  void next_piece(std::size_t line);
  /// Whether somebody is there to answer.
  [[nodiscard]] bool can_ask() const { return can_ask_; }
  /// Shows what is pending, then waits for Enter. Throws `Quit`.
  void wait(const std::string& prompt);
  /// Shows what is pending.
  void flush();

 private:
  struct Piece {
    std::string text;
    std::size_t first_line = 0;
    std::size_t last_line = 0;
  };
  void look_around();
  void show_source(const Piece& piece) const;

  // A rendering that goes to a file, beside what is shown.
  struct Form {
    std::unique_ptr<Renderer> renderer;
    std::ofstream out;
  };

  std::unique_ptr<Renderer> renderer_;
  std::vector<Form> forms_;
  std::string source_;
  bool can_ask_ = false;
  bool step_ = false;
  Piece piece_;
  std::size_t shown_ = 0;  // of piece_.text
  std::vector<Piece> history_;
};

}  // namespace vitruvian::lessons
