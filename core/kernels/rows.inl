// The bodies of the row kernels. Sums run in several lanes, whose number belongs to the instruction
// set: another one may round differently, another compiler or number of threads may not. Included
// by isa.cpp only.

// A sum in as many lanes as a vector has. The order is written here and left to no compiler
// (`omp simd reduction` would): a whole vector's terms join their lanes, those left over at the end
// of a row join lane 0 one by one, and `fold` adds up the lanes from the first to the last. Whoever
// compiles a form of as many lanes gets the same bits, as WebAssembly and the portable form do.
template <class T>
class Lanes {
 public:
  VITRUVIAN_INLINE void add(Vector<T> terms) { sums_ += terms; }
  VITRUVIAN_INLINE void add(T term) { sums_[0] += term; }
  VITRUVIAN_INLINE void store_to(T* lanes) const { store(lanes, sums_); }
  /// The lanes, added to what was there before.
  [[nodiscard]] VITRUVIAN_INLINE T fold(T sum = 0) const {
    T lane[Tile<T>::lanes];
    store(lane, sums_);
    for (const T x : lane) sum += x;
    return sum;
  }

 private:
  Vector<T> sums_ = {};
};

// The sums of a group of rows, side by side: each row's lanes are added up in the order of
// `Lanes::fold`, and no row waits for another's.
template <class T>
class RowSums {
 public:
  static constexpr std::size_t most = 16;
  VITRUVIAN_INLINE void keep(std::size_t row, const Lanes<T>& sums) {
    sums.store_to(lanes_ + row * lanes);
  }
  // What `rows` of them fold to.
  VITRUVIAN_INLINE void fold(std::size_t rows, T* to) const {
    T columns[lanes * most];
    transpose(lanes_, lanes, most, lanes, columns, most);
    T sums[most] = {};
    for (std::size_t l = 0; l < lanes; ++l) {
#pragma omp simd
      for (std::size_t r = 0; r < most; ++r) sums[r] += columns[l * most + r];
    }
    for (std::size_t r = 0; r < rows; ++r) to[r] = sums[r];
  }

 private:
  static constexpr std::size_t lanes = Tile<T>::lanes;
  T lanes_[most * lanes] = {};
};

// A place in a row: at(x) is the vector of x that begins there, or one element.
template <class T, class V>
struct Place {
  std::size_t i;
  VITRUVIAN_INLINE V operator()(const T* x) const {
    V value;
    __builtin_memcpy(&value, x + i, sizeof value);
    return value;
  }
};
// body(at) for the whole vectors of a row, then for the elements that are left over.
template <class T, class Body>
VITRUVIAN_INLINE void along(std::size_t n, const Body& body) {
  constexpr std::size_t lanes = Tile<T>::lanes;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Place<T, Vector<T>>{i});
  for (; i < n; ++i) body(Place<T, T>{i});
}

template <class T, T (*f)(T)>
void map(const T* x, T* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

// The upper half of a float32 is a bfloat16. Adding half of its last place, or a little less where
// it is even, carries into it just where the nearest one lies above; not of NaN, which the carry
// could make an infinity, nor of 0 and subnormals, of which the sign stays.
VITRUVIAN_INLINE float nearest_bfloat16(float x) {
  constexpr Bits<float> sign = 0x80000000, exponent = 0x7F800000, quiet = 0x00400000;
  const Bits<float> bits = bits_of(x);
  const Bits<float> carried = bits + 0x7FFF + (bits >> 16U & 1U);
  const Bits<float> whole = (bits & ~sign) > exponent ? bits | quiet : carried;
  return from_bits<float>((bits & exponent) == 0 ? bits & sign : whole & 0xFFFF0000);
}
template <class T>
constexpr typename Table<T>::Map rounding = nullptr;
template <>
constexpr Table<float>::Map rounding<float> = map<float, nearest_bfloat16>;

template <class T>
VITRUVIAN_INLINE T gelu_of(T x) {
  return x * normal(x).Phi;
}
template <class T>
VITRUVIAN_INLINE T gelu_slope(T near, T Phi, T bell) {
  return Phi + near * bell * T(0.39894228040143267794);
}
template <class T>
VITRUVIAN_INLINE T gelu_slope(T x) {
  const Normal<T> at = normal(x);
  return gelu_slope(at.near, at.Phi, at.bell);
}

// y = x s with s = (1 + tanh u) / 2 and u = sqrt(2 / pi) (x + 0.044715 x^3): with e = e^(-2|u|), s
// is 1 / (1 + e) on the right and e / (1 + e) on the left.
template <class T>
struct Gate {
  T e, s;
};
template <class T>
VITRUVIAN_INLINE Gate<T> gelu_tanh_gate(T x) {
  const T twice_u = T(1.59576912160573071176) * x * (T{1} + T(0.044715) * x * x);
  const T e = exp_or_zero(-magnitude(twice_u));
  return {e, (x < T{0} ? e : T{1}) / (T{1} + e)};
}
template <class T>
VITRUVIAN_INLINE T gelu_tanh_of(T x) {
  return x * gelu_tanh_gate(x).s;
}
// dy/dx = s + x ds/dx with ds/dx = s (1 - s) d(2u)/dx and s (1 - s) = e / (1 + e)^2
template <class T>
VITRUVIAN_INLINE T gelu_tanh_slope(T x) {
  const T inside = at_least(at_most(x, T{Format<T>::Phi_far}), -T{Format<T>::Phi_far});
  const Gate<T> gate = gelu_tanh_gate(inside);
  const T rise = gate.e / ((T{1} + gate.e) * (T{1} + gate.e));
  return gate.s +
         inside * rise * T(1.59576912160573071176) * (T{1} + T(0.134145) * inside * inside);
}

template <class T, T (*slope)(T)>
void map_vjp(const T* x, const T* g, T* dx, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) dx[i] = g[i] * slope(x[i]);
}

// The largest number of a row, NaN aside; -Inf when there is none.
template <class T>
VITRUVIAN_INLINE T largest(const T* x, std::size_t n) {
  constexpr std::size_t lanes = Tile<T>::lanes;
  auto most = Vector<T>{} - Format<T>::infinity;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) most = larger(load(x + i), most);
  T lane[lanes];
  __builtin_memcpy(lane, &most, sizeof lane);
  T rest = -Format<T>::infinity;
  for (; i < n; ++i) rest = x[i] > rest ? x[i] : rest;
  for (std::size_t half = lanes / 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l)
      lane[l] = lane[l + half] > lane[l] ? lane[l + half] : lane[l];
  }
  return rest > lane[0] ? rest : lane[0];
}

// A row of -Inf gives Inf - Inf, so NaN; so does one with +Inf or NaN. Rows go in groups that stay
// in the cache: exp, which is dear at the ragged end of a row, runs over a whole group at once.
template <class T>
void softmax(const T* x, T* y, std::size_t rows, std::size_t n) {
  if (n == 0) return;
  const std::size_t group = n < 2048 ? 2048 / n : 1;
  for (std::size_t first = 0; first < rows; first += group) {
    const std::size_t end = smaller(rows, first + group);
    for (std::size_t r = first; r < end; ++r) {
      const T most = largest(x + r * n, n);
#pragma omp simd
      for (std::size_t i = r * n; i < (r + 1) * n; ++i) y[i] = x[i] - most;
    }
#pragma omp simd
    for (std::size_t i = first * n; i < end * n; ++i) y[i] = exp_or_zero(y[i]);
    for (std::size_t r = first; r < end; ++r) {
      Lanes<T> sum;
      along<T>(n, [&](auto at) { sum.add(at(y + r * n)); });
      const T scale = T{1} / sum.fold();
#pragma omp simd
      for (std::size_t i = r * n; i < (r + 1) * n; ++i) y[i] *= scale;
    }
  }
}

template <class T>
void softmax_vjp(const T* y, const T* g, T* dx, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, y += n, g += n, dx += n) {
    Lanes<T> products;
    along<T>(n, [&](auto at) { products.add(at(y) * at(g)); });
    const T dot = products.fold();
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) dx[i] = y[i] * (g[i] - dot);
  }
}

// exp_or_zero of every lane, or of one number.
template <class T>
VITRUVIAN_INLINE Vector<T> exp_or_zero_of(Vector<T> x) {
  T lane[Tile<T>::lanes];
  store(lane, x);
#pragma omp simd
  for (std::size_t l = 0; l < Tile<T>::lanes; ++l) lane[l] = exp_or_zero(lane[l]);
  return load(lane);
}
template <class T>
VITRUVIAN_INLINE T exp_or_zero_of(T x) {
  return exp_or_zero(x);
}

template <class T>
VITRUVIAN_INLINE T sum_of_exp(const T* x, T most, std::size_t n) {
  Lanes<T> sum;
  along<T>(n, [&](auto at) { sum.add(exp_or_zero_of<T>(at(x) - most)); });
  return sum.fold();
}

template <class T>
void log_softmax(const T* x, T* y, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, x += n, y += n) {
    const T most = largest(x, n);
    const T log_sum = logarithm(sum_of_exp(x, most, n));
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] = (x[i] - most) - log_sum;
  }
}

template <class T>
void log_softmax_vjp(const T* y, const T* g, T* dx, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, y += n, g += n, dx += n) {
    Lanes<T> sums;
    along<T>(n, [&](auto at) { sums.add(at(g)); });
    const T sum = sums.fold();
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) dx[i] = g[i] - exponential(y[i]) * sum;
  }
}

// Two passes. What rounding the mean to T left over (half a unit of 1e6 is 0.03 in float) the
// second one measures and takes off again; a constant row is then 0 exactly.
template <class T>
void layer_norm(const T* x, const T* w, const T* b, double eps, T* y, T* mean, T* rstd,
                std::size_t rows, std::size_t n) {
  constexpr std::size_t most = RowSums<T>::most;
  const T count = static_cast<T>(n);
  RowSums<T> sums, squares;
  T total[most], total_of_squares[most], rests[most];
  for (std::size_t first = 0; first < rows; first += most) {
    const std::size_t many = smaller(most, rows - first);
    const T* const xs = x + first * n;
    for (std::size_t r = 0; r < many; ++r) {
      Lanes<T> sum;
      along<T>(n, [&](auto at) { sum.add(at(xs + r * n)); });
      sums.keep(r, sum);
    }
    sums.fold(many, total);
    for (std::size_t r = 0; r < many; ++r) {
      const T mu = mean[first + r] = total[r] / count;
      Lanes<T> sum_d;
      Lanes<T> sum_dd;
      along<T>(n, [&](auto at) {
        const auto d = at(xs + r * n) - mu;
        sum_d.add(d);
        sum_dd.add(d * d);
      });
      sums.keep(r, sum_d);
      squares.keep(r, sum_dd);
    }
    sums.fold(many, total);
    squares.fold(many, total_of_squares);
    for (std::size_t r = 0; r < many; ++r) {
      const T rest = rests[r] = total[r] / count;
      const double variance = double{total_of_squares[r] / count} - double{rest} * double{rest};
      const double positive = variance < 0 ? 0 : variance;  // NaN stays
      rstd[first + r] = static_cast<T>(1 / __builtin_sqrt(positive + eps));
    }
    for (std::size_t r = 0; r < many; ++r) {
      const T mu = mean[first + r];
      const T rest = rests[r];
      const T scale = rstd[first + r];
      const T* const from = xs + r * n;
      T* const to = y + (first + r) * n;
      if (w && b) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) to[i] = (from[i] - mu - rest) * scale * w[i] + b[i];
      } else {
        for (std::size_t i = 0; i < n; ++i) {
          to[i] = (from[i] - mu - rest) * scale * (w ? w[i] : T{1}) + (b ? b[i] : T{0});
        }
      }
    }
  }
}

template <class T>
void layer_norm_vjp(const T* x, const T* w, const T* mean, const T* rstd, const T* g, T* dx, T* dw,
                    T* db, std::size_t rows, std::size_t n) {
  constexpr std::size_t most = RowSums<T>::most;
  const T count = static_cast<T>(n);
  RowSums<T> sums_d, sums_g, sums_gd;
  T total_d[most], total_g[most], total_gd[most];
  for (std::size_t first = 0; first < rows; first += most) {
    const std::size_t many = smaller(most, rows - first);
    for (std::size_t r = 0; r < many; ++r) {
      const std::size_t start = (first + r) * n;
      const T mu = mean[first + r];
      Lanes<T> sum_d;
      Lanes<T> sum_g;
      Lanes<T> sum_gd;
      along<T>(n, [&](auto at) {
        const auto d = at(x + start) - mu;
        const auto gw = w ? at(g + start) * at(w) : at(g + start);
        sum_d.add(d);
        sum_g.add(gw);
        sum_gd.add(gw * d);
      });
      sums_d.keep(r, sum_d);
      sums_g.keep(r, sum_g);
      sums_gd.keep(r, sum_gd);
    }
    sums_d.fold(many, total_d);
    sums_g.fold(many, total_g);
    sums_gd.fold(many, total_gd);
    for (std::size_t r = 0; r < many; ++r) {
      const T* const xs = x + (first + r) * n;
      const T* const gs = g + (first + r) * n;
      const T mu = mean[first + r];
      const T scale = rstd[first + r];
      const T rest = total_d[r] / count;
      const T mean_g = total_g[r] / count;
      const T mean_gxh = (total_gd[r] / count - rest * mean_g) * scale;
      if (dx) {
        T* const to = dx + (first + r) * n;
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) {
          const T gw = w ? gs[i] * w[i] : gs[i];
          const T xh = (xs[i] - mu - rest) * scale;
          to[i] = scale * (gw - mean_g - xh * mean_gxh);
        }
      }
      if (dw) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) dw[i] += gs[i] * ((xs[i] - mu - rest) * scale);
      }
      if (db) {
#pragma omp simd
        for (std::size_t i = 0; i < n; ++i) db[i] += gs[i];
      }
    }
  }
}

template <class T>
void add_bias(T* y, const T* b, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, y += n) {
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) y[i] += b[i];
  }
}

// The value and its derivative share the normal distribution: together they cost what one does.
template <class T>
void bias_gelu(T* y, const T* b, T* slope, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, y += n) {
    if (b) add_bias(y, b, 1, n);
    if (slope) {
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) {
        const T x = y[i];
        const Normal<T> at = normal(x);
        slope[i] = gelu_slope(at.near, at.Phi, at.bell);
        y[i] = x * at.Phi;
      }
      slope += n;
    } else {
      map<T, gelu_of<T>>(y, y, n);
    }
  }
}

template <class T>
void multiply(T* y, const T* x, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] *= x[i];
}
template <class T>
void add(const T* a, const T* b, T* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

// In groups of rows, so that the error grows with their number and not with that of the rows.
template <class T>
void sum_rows(const T* g, T* db, std::size_t rows, std::size_t n, std::size_t width) {
  constexpr std::size_t group = 64;
  constexpr std::size_t columns = 64;
  for (std::size_t j = 0; j < width; j += columns) {
    const std::size_t w = smaller(columns, width - j);
    T total[columns] = {};
    for (std::size_t first = 0; first < rows; first += group) {
      T part[columns] = {};
      for (std::size_t r = first; r < smaller(rows, first + group); ++r) {
        const T* row = g + r * n + j;
#pragma omp simd
        for (std::size_t i = 0; i < w; ++i) part[i] += row[i];
      }
      for (std::size_t i = 0; i < columns; ++i) total[i] += part[i];
    }
    for (std::size_t i = 0; i < w; ++i) db[j + i] = total[i];
  }
}

// t = (1 - e) target + e / n. A target of exactly 0 adds nothing, whatever its logit (0 log 0 = 0):
// with labels so does PyTorch; with probabilities its 0 * -Inf is NaN and ours is not.
template <class T>
void cross_entropy(const T* x, const std::size_t* labels, const T* targets, double smoothing,
                   T* loss, T* dx, std::size_t rows, std::size_t n) {
  const T keep = static_cast<T>(1 - smoothing);
  const T spread = static_cast<T>(smoothing / static_cast<double>(n));
  for (std::size_t r = 0; r < rows; ++r, x += n, dx += n) {
    const T most = largest(x, n);
    const T sum = sum_of_exp(x, most, n);
    const T log_sum = logarithm(sum);
    double total = 0;  // a thousand classes that share a smoothed target are a thousand roundings
    double weight = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const T target = labels ? T(i == labels[r]) : targets[r * n + i];
      const T t = keep * target + spread;
      weight += double{t};
      if (t != T{0}) total += double{t} * double{log_sum - (x[i] - most)};
      dx[i] = t;
    }
    loss[r] = static_cast<T>(total);
    const T scale = static_cast<T>(weight) / sum;
#pragma omp simd
    for (std::size_t i = 0; i < n; ++i) dx[i] = exp_or_zero(x[i] - most) * scale - dx[i];
  }
}

template <class T>
void adamw(T* w, const T* g, T* m, T* v, std::size_t n, const AdamWNumbers<T>& a) {
  const AdamWNumbers<T> c = a;
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    m[i] = c.beta1 * m[i] + c.rest1 * g[i];
    v[i] = c.beta2 * v[i] + c.rest2 * g[i] * g[i];
    w[i] = c.keep * w[i] - c.rate * (m[i] / (square_root(v[i]) / c.root2 + c.eps));
  }
}

// As many elements from x on as a vector of doubles has lanes.
template <class T>
VITRUVIAN_INLINE Vector<double> load_as_double(const T* x) {
  typedef T Few __attribute__((vector_size(Tile<double>::lanes * sizeof(T))));
  Few few;
  __builtin_memcpy(&few, x, sizeof few);
  return __builtin_convertvector(few, Vector<double>);
}

// As many lanes as a vector of T has, of doubles: two vectors of them where T is float.
template <class T>
double sum_of_squares(const T* x, std::size_t n) {
  constexpr std::size_t lanes = Tile<double>::lanes;
  constexpr std::size_t vectors = Tile<T>::lanes / lanes;
  Lanes<double> sums[vectors];
  std::size_t i = 0;
  for (; i + vectors * lanes <= n; i += vectors * lanes) {
    for (std::size_t v = 0; v < vectors; ++v) {
      const Vector<double> wide = load_as_double(x + i + v * lanes);
      sums[v].add(wide * wide);
    }
  }
  for (; i < n; ++i) sums[0].add(double{x[i]} * double{x[i]});
  double sum = 0;
  for (const Lanes<double>& part : sums) sum = part.fold(sum);
  return sum;
}
