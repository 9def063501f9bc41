// Weights that somebody made on purpose: see tests/apps/attacks.hpp.

#include "tests/apps/attacks.hpp"
#include "tests/nn/archives.hpp"

namespace vitruvian {
namespace {

std::string header(const std::string& json, std::size_t data) {
  return little(json.size(), 8) + json + std::string(data, '\0');
}

std::string many(std::size_t n, const std::function<std::string(std::size_t)>& one) {
  std::string json = "{";
  for (std::size_t i = 0; i < n; ++i) json += (i == 0 ? "" : ",") + one(i);
  return json + "}";
}

TEST_CASE("weights") {
  const std::string good = content(digit_model);
  const auto at = good.find("\\\"D\\\":64");
  REQUIRE(at != std::string::npos);
  std::string promised = good;
  promised.replace(at, 8, "\\\"D\\\":96");
  const Attack attacks[] = {
      {"a header that is longer than the file", [=] { return little(1000, 8) + "{}"; },
       "cut short"},
      {"a header of 2^63 bytes", [=] { return little(1ULL << 63U, 8) + "{}"; }, "above 16777216"},
      {"a header of 17 MB that is there", [=] { return header(std::string(17U << 20U, ' '), 0); },
       "above 16777216"},
      {"a shape that wraps to zero",
       [=] {
         return header(
             R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0);
       },
       "overflows"},
      {"100 GB in a shape",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[25000000000],"data_offsets":[0,0]}})", 0);
       },
       "needs 100000000000 bytes but has 0"},
      {"100 GB in a range",
       [=] {
         return header(
             R"({"a":{"dtype":"F32","shape":[25000000000],"data_offsets":[0,100000000000]}})", 0);
       },
       "cut short or wrong"},
      {"two tensors on the same bytes",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                       12);
       },
       "overlap"},
      {"bytes between tensors",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                       12);
       },
       "belong to nobody"},
      {"a name twice",
       [=] {
         return header(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                       R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                       4);
       },
       "comes twice"},
      {"an unknown dtype",
       [=] { return header(R"({"a":{"dtype":"I63","shape":[],"data_offsets":[0,8]}})", 8); },
       "'I63'"},
      {"a class token of integers",
       [=] {
         return header(R"({"cls_token":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})", 8);
       },
       "it lacks"},
      {"a header behind a space", [=] { return header(" {}", 0); }, "does not begin with '{'"},
      {"another file behind a NUL",
       [=] { return header("{}" + std::string(1, '\0') + "MZ a program", 0); }, "holds a NUL"},
      {"data cut short", [=] { return good.substr(0, good.size() - 1); }, "cut short or wrong"},
      {"a million metadata",
       [=] {
         return header(many(1,
                            [](std::size_t) {
                              return "\"__metadata__\":" + many(1'000'000, [](std::size_t i) {
                                       return '"' + std::to_string(i) + "\":\"\"";
                                     });
                            }),
                       0);
       },
       "more than 65536 names"},
      {"a hundred thousand tensors",
       [=] {
         return header(
             many(100'000,
                  [](std::size_t i) {
                    return '"' + std::to_string(i) +
                           R"(":{"dtype":"F32","shape":[0,0,0,0,0],"data_offsets":[0,0]})";
                  }),
             0);
       },
       "more than 65536 names"},
      {"as many tensors as are allowed",
       [=] {
         return header(
             many(65'000,
                  [](std::size_t i) {
                    return '"' + std::to_string(i) +
                           R"(":{"dtype":"F32","shape":[0,0,0,0,0],"data_offsets":[0,0]})";
                  }),
             0);
       },
       "no ViT of"},
      {"a name of 15 MB",
       [=] { return header("{\"" + std::string(15'000'000, 'x') + "\":{}}", 0); },
       "a name has 15000000 characters"},
      {"15 million brackets", [=] { return header(std::string(15'000'000, '['), 0); },
       "does not begin with"},
      {"15 million brackets in a shape",
       [=] { return header(R"({"a":{"shape":)" + std::string(15'000'000, '['), 0); },
       "an array stands in"},
      {"a config that does not fit", [=] { return promised; }, ""},
      {"a file of zeros", [=] { return std::string(100'000, '\0'); }, "does not begin with"},
      {"an empty file", [=] { return std::string(""); }, "too few"},
  };
  for (const Attack& attack : attacks) {
    check(attack, 4, {"predict", digit_model, "--weights"}, {});
  }
  check(attacks[10], 4, {"convert", "--to", "/dev/null/nowhere", "--scheme", "jax", "--from"}, {});
}

#if VITRUVIAN_HAS_LIBZIP
TEST_CASE("weights in .npz") {
  const std::string start = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  const std::string bomb =
      zip({{"cls.npy", npy(start + "(100000000,), }", std::string(400'000'000, '\0')), true}});
  CHECK(bomb.size() < 500'000);
  const std::string one = npy(start + "(1,), }", "abcd");
  std::string damaged = zip({{"cls.npy", one, true}});
  damaged[45] ^= 1;
  const Attack attacks[] = {
      {"400 MB in 0.4 MB", [=] { return bomb; }, "it lacks"},
      {"4 GB promised by 20 bytes",
       [=] {
         return zip({{"cls.npy", one, true, 4'000'000'000}});
       },
       "packed bytes cannot hold 4000000000"},
      {"100 GB in a shape",
       [=] {
         return zip({{"cls.npy", npy(start + "(25000000000,), }", "")}});
       },
       "needs 100000000000 bytes"},
      {"a shape that wraps to zero",
       [=] {
         return zip({{"cls.npy", npy(start + "(4294967296, 4294967296), }", "")}});
       },
       "overflows"},
      {"cut short", [=] { return bomb.substr(0, bomb.size() / 2); }, "cut short"},
      {"damaged", [=] { return damaged; }, "'cls': "},
      {"a crowd",
       [=] {
         std::vector<Member> crowd;
         for (int i = 0; i < 30'000; ++i) crowd.push_back({std::to_string(i) + ".npy", one});
         return zip(crowd);
       },
       "directory of"},
      {"a name twice",
       [=] {
         return zip({{"cls.npy", one}, {"cls.npy", one}});
       },
       ""},
      {"integers",
       [=] {
         return zip({{"cls.npy", npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
                                     std::string(8, 'x'))}});
       },
       "it lacks"},
      {"objects that Python would make",
       [=] {
         return zip({{"cls.npy", npy("{'descr': '|O', 'fortran_order': False, 'shape': (), }",
                                     std::string(8, 'x'))}});
       },
       "dtype '|O'"},
  };
  for (const Attack& attack : attacks) {
    check(attack, 4, {"predict", digit_model, "--weights"}, {});
  }
}
#endif

}  // namespace
}  // namespace vitruvian
