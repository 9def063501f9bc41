#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

// Several processes that train one model, and what they say to one another.

namespace vitruvian {

/// One of the processes that train one model together: each has all of its weights, and computes a
/// share of every step. Messages of one tag from one rank to another arrive in the order in which
/// they were sent. One thread of a rank at a time uses it. All ranks must call the functions below
/// in the same order; a failure of one (whatever throws) is a failure of all.
class Ranks {
 public:
  using Ticket = std::size_t;
  using Tag = std::uint16_t;  ///< tells messages apart that are under way at the same time

  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  [[nodiscard]] virtual std::size_t rank() const = 0;  ///< below size()
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::string host() const = 0;  ///< the machine's name

  /// Begins to send bytes to another rank; they must stay as they are until `wait` has returned.
  virtual Ticket send(std::size_t to, std::span<const std::byte> bytes, Tag tag = 0) = 0;
  /// Begins to receive as many bytes as the other rank sends; they are there when `wait` returns.
  virtual Ticket receive(std::size_t from, std::span<std::byte> bytes, Tag tag = 0) = 0;
  /// Once for each ticket. Throws where the other rank has failed, unless that ends this one too.
  void wait(Ticket ticket);
  /// Whether `wait` would return at once; then it has, and the ticket is spent. Messages move on
  /// meanwhile.
  virtual bool test(Ticket ticket) = 0;
  /// Seconds that this rank has spent in `wait`.
  [[nodiscard]] double waited() const { return waited_; }

 private:
  virtual void complete(Ticket ticket) = 0;
  double waited_ = 0;
};

/// The only process of its kind: what everything below does there is nothing.
Ranks& one_rank();

/// "rank 2 of 4 on node7".
std::string name_of(const Ranks& ranks);

/// Gives all ranks the bytes that rank 0 has there: of as many on each.
void broadcast_bytes(Ranks& ranks, std::span<std::byte> bytes);
/// The same of a text or a vector, which takes the size of rank 0's.
template <class Container>
void broadcast(Ranks& ranks, Container& values) {
  static_assert(std::is_trivially_copyable_v<typename Container::value_type>);
  std::size_t size = values.size();
  broadcast_bytes(ranks, std::as_writable_bytes(std::span(&size, 1)));
  values.resize(size);
  broadcast_bytes(ranks, std::as_writable_bytes(std::span(values.data(), size)));
}

/// Gives all ranks every part: part i, of as many bytes on each, is taken from rank `owner(i)`.
void exchange_parts(Ranks& ranks, std::span<const std::span<std::byte>> parts,
                    const std::function<std::size_t(std::size_t i)>& owner);
/// The same of the elements of a vector.
template <class T>
void exchange(Ranks& ranks, std::vector<T>& values,
              const std::function<std::size_t(std::size_t i)>& owner) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (ranks.size() == 1) return;
  std::vector<std::span<std::byte>> parts;
  for (T& value : values) parts.push_back(std::as_writable_bytes(std::span(&value, 1)));
  exchange_parts(ranks, parts, owner);
}

/// Every rank's value, in their order.
template <class T>
std::vector<T> all_of(Ranks& ranks, T mine) {
  std::vector<T> result(ranks.size());
  result[ranks.rank()] = mine;
  exchange(ranks, result, [](std::size_t i) { return i; });
  return result;
}
/// Every rank's text, in their order.
std::vector<std::string> all_texts(Ranks& ranks, std::string mine);

}  // namespace vitruvian
