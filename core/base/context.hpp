#pragma once

#include <string>
#include <type_traits>
#include <utility>

namespace vitruvian {

class BackwardPass;
class Fault;
class KeptWeights;
class Profile;

/// What is true of a thread for a while. Scoped objects set it and put it back (`NoGrad`,
/// `Composed`, `Anomaly`, `Fault`, `KeptWeights`, `Profile`, `Scope`, `init::Off`), each by one
/// `Scoped` field; `parallel_for` hands the caller's to its workers. There is no other way for a
/// mode to reach an op, and none to lose one between threads.
struct Context {
  bool no_grad = false;               ///< NoGrad: nothing is recorded
  bool composed = false;              ///< Composed: fused ops compute as their twins do
  bool init_off = false;              ///< init::Off: initialisers leave every tensor as it is
  bool anomaly = false;               ///< Anomaly: NaN and infinity are looked for
  bool forgets_unbroadcast = false;   ///< a broken rule that stretched axes come back unsummed from
  bool inside_loop = false;           ///< parallel_for: of several chunks, whoever runs them
  const std::string* path = nullptr;  ///< Scope: the module's path, null at the top
  const Fault* fault = nullptr;       ///< Fault: the mistake that is made on purpose
  Profile* profile = nullptr;         ///< Profile: the innermost one
  KeptWeights* kept = nullptr;        ///< KeptWeights: of a model that does not learn
  BackwardPass* pass = nullptr;       ///< BackwardPass: the walk that is under way

  /// This thread's.
  static Context& here();
};

namespace detail {
inline constinit thread_local Context context;
}
inline Context& Context::here() { return detail::context; }

/// While it lives, one field of this thread's context has another value:
/// `const Scoped<&Context::no_grad> nothing_recorded(true)`.
template <auto Field>
class Scoped {
  using Value = std::remove_reference_t<decltype(std::declval<Context&>().*Field)>;

 public:
  explicit Scoped(Value value) : before_(std::exchange(Context::here().*Field, value)) {}
  ~Scoped() { Context::here().*Field = before_; }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  Value before_;
};

}  // namespace vitruvian
