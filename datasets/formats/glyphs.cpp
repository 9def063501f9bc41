// Ten digits as hands write them.

#include "vitruvian/datasets/formats/digits.hpp"

#include <array>
#include <span>
#include <sstream>
#include <string>

namespace vitruvian {
namespace {

// The knots of a glyph as x,y in hundredths, in the order of the pen; "!" marks a corner, "|" lifts
// the pen.
struct Way {
  double weight;
  const char* strokes;
};

constexpr Way zero[] = {
    // closed
    {3, "42,2 16,16 5,50 14,83 39,98 67,82 77,48 65,16 42,2"},
    // drawn past its beginning
    {2, "53,6 26,10 7,42 12,80 37,98 67,82 77,46 63,12 39,2 28,10"},
    // open at the top
    {1, "35,4 12,26 6,60 19,90 44,97 70,76 74,40 63,14 46,6"},
    // the other way round
    {1, "32,6 60,10 77,42 67,82 39,98 12,82 5,46 19,14 46,2"},
    // with a tail that crosses the ring
    {1.2, "62,2 40,6 14,26 5,60 20,92 48,96 74,70 76,36 58,12 34,8 22,20"},
    // that begins inside
    {0.8, "50,20 30,8 10,32 6,66 24,96 54,94 74,62 72,26 52,4 30,6"},
    // narrow and leaning
    {3, "56,4 34,12 12,46 4,82 16,98 36,86 58,52 64,16 54,2 42,6"},
};

constexpr Way one[] = {
    // a stroke
    {7, "10,0 10,50 10,100"},
    // a bent one
    {1, "16,0 10,30 8,68 12,100"},
    // with a flag
    {1.5, "-10,22 12,0! 12,50 12,100"},
    // with flag and foot
    {0.6, "-12,20 12,0! 12,50 12,98 | -16,99 12,98 40,97"},
};

constexpr Way two[] = {
    // with a straight foot
    {3, "7,24 18,6 41,0 64,12 64,34 41,64 5,97! 41,95 80,95"},
    // with a loop
    {3, "9,20 23,4 46,0 64,14 59,40 39,70 14,94 2,88 14,76 39,84 62,95 84,90"},
    // with a wave for a foot
    {2, "5,16 27,2 57,6 62,30 39,62 7,92! 27,84 52,96 84,96"},
    // with a pointed turn
    {1.5, "2,20 26,2 56,6 60,28 40,58 14,86 6,94! 36,86 78,84"},
    // with a curled beginning
    {1, "18,30 7,20 21,4 48,0 66,16 55,48 5,96! 43,94 82,98"},
    // with a large loop and a long foot
    {1.5, "10,18 30,0 50,12 46,40 30,70 12,96 0,88 8,70 28,72 52,90 84,94"},
    // with a small head
    {1, "18,14 34,0 48,10 44,34 26,66 0,96! 40,92 82,92"},
};

constexpr Way three[] = {
    // round
    {4, "6,12 28,0 50,10 50,32 26,46! 50,54 60,74 44,94 20,99 0,88"},
    // with a soft waist
    {2, "4,10 28,0 52,10 48,34 30,46 48,52 60,72 42,95 18,98 2,90"},
    // with a loop for a waist
    {1, "6,12 30,0 52,14 42,38 24,50 22,44 36,42 58,60 50,88 26,99 0,88"},
    // with a flat top
    {0.7, "4,4 28,2 54,2! 40,22 26,40! 52,50 58,74 40,95 18,98 0,88"},
    // with a small head
    {1.2, "14,8 30,0 46,8 42,26 24,38! 50,46 60,70 44,94 20,99 0,92"},
    // with a large head
    {1.2, "2,12 28,0 58,12 54,42 22,58! 46,62 54,78 40,96 18,98 4,92"},
};

constexpr Way four[] = {
    // open, angular
    {3, "12,0 6,28 2,54! 32,54 62,48 | 58,6 52,50 46,100"},
    // open, round
    {3, "10,2 2,30 10,52 34,52 56,38 | 62,0 56,38 50,70 46,100"},
    // in one stroke: like a u with a long right leg
    {1.5, "10,6 2,36 14,52 40,48 58,24 62,4! 58,44 50,100"},
    // closed
    {2, "50,0 24,34 0,62! 34,62 72,60 | 50,0 50,50 48,100"},
    // closed, nearly a nine
    {0.5, "56,4 30,12 4,46! 32,48 56,40 | 58,2 52,46 46,100"},
    // open, with a low crossing
    {1.5, "14,8 8,38 6,66! 34,66 68,62 | 56,0 52,50 48,100"},
};

constexpr Way five[] = {
    // stem and belly, then the bar
    {4, "16,4 13,24 11,44! 36,38 60,50 63,74 45,94 20,98 0,90 | 16,4 40,3 72,0"},
    // in one stroke
    {2, "69,2 43,3 18,6! 16,26 11,44! 38,40 60,54 60,76 40,95 2,94"},
    // soft, like an s
    {2, "69,2 38,2 18,16 18,36 40,46 56,60 54,82 31,97 2,92"},
    // with an angular belly
    {1, "22,4 18,26 10,42! 38,44 58,62 44,88 2,100 | 22,4 44,4 72,0"},
    // a long bar and a small belly
    {1, "22,6 16,26 9,46! 27,44 47,54 47,76 27,96 0,96 | 22,6 54,4 87,0"},
};

constexpr Way six[] = {
    // a curved back
    {3, "50,0 24,18 6,52 8,84 28,99 52,86 54,64 34,54 12,68 7,82"},
    // a straight back
    {2, "38,0 20,28 6,60 6,86 26,99 48,88 50,70 32,60 8,74"},
    // a loop that stays open
    {1, "46,0 22,20 5,56 10,88 32,98 54,84 50,64 32,62 22,70"},
    // a large loop
    {1.5, "46,2 20,16 4,46 6,80 28,98 56,86 60,58 38,44 12,58 5,74"},
    // a long back and a flat loop
    {1, "30,0 12,30 2,64 8,92 34,98 60,88 56,72 34,70 6,86"},
};

constexpr Way seven[] = {
    // plain
    {4, "0,6 30,5 60,3! 42,40 30,70 24,100"},
    // with a serif
    {2, "0,22 3,4! 30,5 60,3! 42,42 28,100"},
    // with a bar
    {1.2, "0,8 30,5 60,3! 44,40 30,70 22,100 | 12,52 36,50 60,46"},
    // round
    {2, "0,14 24,2 54,4 56,26 42,58 32,100"},
    // steep
    {1, "2,10 28,10 52,2! 48,34 46,66 46,100"},
    // with a dropped serif and a bent stem
    {2, "2,30 6,6! 32,8 62,2! 46,30 34,60 34,100"},
};

constexpr Way eight[] = {
    // in one stroke from the top right
    {4, "52,12 32,0 10,12 18,36 42,56 50,80 26,99 4,84 14,60 40,40 54,18 50,8"},
    // that stays open at the top
    {2, "58,10 34,0 12,12 18,36 42,56 46,82 22,99 2,84 14,60 42,34 60,8"},
    // two rings
    {1.5, "30,0 10,12 12,36 30,46 50,34 50,12 30,0 | 30,46 6,62 8,88 30,99 54,88 54,62 30,46"},
    // from the top left
    {1, "8,10 16,32 44,56 50,82 26,99 4,84 14,58 44,34 50,10 30,0 8,10"},
    // a large upper ring
    {1.2, "56,14 34,0 6,14 12,42 34,60 42,82 26,99 10,86 20,64 48,42 60,20 50,6"},
    // a small upper ring
    {1, "48,12 34,0 20,10 24,30 46,48 56,78 30,99 2,84 10,56 38,34 48,18 42,4"},
};

constexpr Way nine[] = {
    // a straight stem
    {3, "52,10 30,0 6,16 6,38 26,46 48,30 54,6! 52,50 46,100"},
    // a stem that leans and bends
    {3, "54,12 32,0 8,14 6,36 26,46 48,32 56,12 52,48 38,100"},
    // a hooked tail
    {1.5, "54,12 32,0 8,14 8,38 28,46 50,32 55,12 55,56 44,90 22,99 4,90"},
    // a loop that stays open
    {1.5, "46,4 20,6 4,26 12,44 36,40 54,18 50,58 42,100"},
    // a small ring on a long stem
    {1, "44,16 28,2 8,10 10,28 28,34 44,16 44,50 36,100"},
    // a large ring on a short stem
    {1, "56,16 36,0 10,14 2,42 18,60 42,54 58,28 60,8! 60,54 50,100"},
};

constexpr std::array<std::span<const Way>, 10> ways = {zero, one, two,   three, four,
                                                       five, six, seven, eight, nine};

Glyph parse(const Way& way) {
  Glyph glyph{way.weight, {Stroke{}}};
  std::istringstream words(way.strokes);
  for (std::string word; words >> word;) {
    if (word == "|") {
      glyph.strokes.emplace_back();
      continue;
    }
    int x = 0, y = 0;
    char comma = ' ';
    std::istringstream(word) >> x >> comma >> y;
    glyph.strokes.back().push_back({x / 100.0, y / 100.0, word.back() == '!'});
  }
  return glyph;
}

}  // namespace

const std::vector<Glyph>& glyphs(std::size_t digit) {
  static const std::vector<std::vector<Glyph>> all = [] {
    std::vector<std::vector<Glyph>> parsed;
    for (const auto& of_digit : ways) {
      parsed.emplace_back();
      for (const Way& way : of_digit) parsed.back().push_back(parse(way));
    }
    return parsed;
  }();
  return all.at(digit);
}

}  // namespace vitruvian
