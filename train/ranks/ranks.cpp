#include "vitruvian/train/ranks/ranks.hpp"

#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace vitruvian {
namespace {

class OneRank : public Ranks {
 public:
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t size() const override { return 1; }
  [[nodiscard]] std::string host() const override { return "this machine"; }
  Ticket send(std::size_t, std::span<const std::byte>, Tag) override { fail("one rank: no other"); }
  Ticket receive(std::size_t, std::span<std::byte>, Tag) override { fail("one rank: no other"); }
  bool test(Ticket) override { return true; }

 private:
  void complete(Ticket) override {}
};

// Down a binomial tree: in the first of its rounds rank 0 tells one, then two tell two more.
void broadcast_piece(Ranks& ranks, std::span<std::byte> bytes) {
  const std::size_t rank = ranks.rank();
  std::size_t reach = 1;
  while (reach < ranks.size() && (rank & reach) == 0) reach <<= 1;
  if (rank != 0) ranks.wait(ranks.receive(rank - reach, bytes));
  std::vector<Ranks::Ticket> sent;
  for (reach >>= 1; reach > 0; reach >>= 1) {
    if (rank + reach < ranks.size()) sent.push_back(ranks.send(rank + reach, bytes));
  }
  for (const Ranks::Ticket ticket : sent) ranks.wait(ticket);
}

}  // namespace

void Ranks::wait(Ticket ticket) {
  const auto begin = std::chrono::steady_clock::now();
  complete(ticket);
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Ranks& one_rank() {
  static OneRank one;
  return one;
}

std::string name_of(const Ranks& ranks) {
  return fmt::format("rank {} of {} on {}", ranks.rank(), ranks.size(), ranks.host());
}

void broadcast_bytes(Ranks& ranks, std::span<std::byte> bytes) {
  if (ranks.size() == 1) return;
  constexpr std::size_t most = std::size_t{1} << 24;  // MPI counts bytes in an int
  for (std::size_t begin = 0; begin < bytes.size(); begin += most) {
    broadcast_piece(ranks, bytes.subspan(begin, std::min(most, bytes.size() - begin)));
  }
}

void exchange_parts(Ranks& ranks, std::span<const std::span<std::byte>> parts,
                    const std::function<std::size_t(std::size_t i)>& owner) {
  if (ranks.size() == 1) return;
  std::vector<std::vector<std::byte>> by_rank(ranks.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::byte>& its = by_rank[owner(i)];
    its.insert(its.end(), parts[i].begin(), parts[i].end());
  }
  if (ranks.rank() == 0) {
    for (std::size_t r = 1; r < ranks.size(); ++r) {
      if (!by_rank[r].empty()) ranks.wait(ranks.receive(r, by_rank[r]));
    }
  } else if (const auto& mine = by_rank[ranks.rank()]; !mine.empty()) {
    ranks.wait(ranks.send(0, mine));
  }
  std::vector<std::byte> all;
  for (const auto& its : by_rank) all.insert(all.end(), its.begin(), its.end());
  broadcast_bytes(ranks, all);
  std::vector<std::size_t> at(ranks.size(), 0);
  for (std::size_t r = 1; r < ranks.size(); ++r) at[r] = at[r - 1] + by_rank[r - 1].size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::memcpy(parts[i].data(), all.data() + at[owner(i)], parts[i].size());
    at[owner(i)] += parts[i].size();
  }
}

std::vector<std::string> all_texts(Ranks& ranks, std::string mine) {
  const std::vector<std::size_t> sizes = all_of(ranks, mine.size());
  std::vector<std::string> texts;
  for (const std::size_t size : sizes) texts.emplace_back(size, ' ');
  texts[ranks.rank()] = std::move(mine);
  std::vector<std::span<std::byte>> parts;
  for (std::string& text : texts) parts.push_back(std::as_writable_bytes(std::span(text)));
  exchange_parts(ranks, parts, [](std::size_t i) { return i; });
  return texts;
}

}  // namespace vitruvian
