// The command line: it parses, calls a room, and prints. It is compiled once for each precision.

#include "apps/command_line.hpp"
#include "apps/commands.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"
#include "vitruvian/core/base/real.hpp"
#include "vitruvian/core/base/wrapping.hpp"
#include "vitruvian/core/kernels/kernels.hpp"
#include "vitruvian/train/settings/settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

// Its version alone; 0.26 moved its headers.
#if __has_include(<xtensor/core/xtensor_config.hpp>)
#include <xtensor/core/xtensor_config.hpp>
#else
#include <xtensor/xtensor_config.hpp>
#endif

namespace vitruvian {
namespace {

constexpr bool is_double = sizeof(real) == sizeof(double);
char** arguments = nullptr;
Precision asked = is_double ? Precision::float64 : Precision::float32;  // by --precision

}  // namespace

void in_precision(Precision wanted, std::string_view why) {
  kernels::set_gemm_precision(wanted == Precision::bfloat16 ? kernels::GemmPrecision::bfloat16
                                                            : kernels::GemmPrecision::float32);
  const bool wants_double = wanted == Precision::float64;
  if (wants_double == is_double) return;
  std::error_code unknown;  // where this system does not tell it, arguments[0] does
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown) program = arguments[0];
  program.replace_filename(wants_double ? "vitruvian_double" : "vitruvian");
  console::flush();
  execvp(program.c_str(), arguments);
  fail(
      "{}{} precision is a program of its own, which does not start ({}: {}); in a "
      "checkout, cmake --build build --target {} makes it",
      why, wants_double ? "double" : "float", program.string(), std::strerror(errno),
      program.filename().string());
}

void print_machine() {
  const std::string machine = fmt::format(
      "{}, {}, {}, matrix product {}", counted(threads(), "thread"),
      is_double ? "float64" : "float32", kernels::simd_description(), kernels::gemm_description());
  console::print("{}\n", console::entry(stdout, "machine  ", machine));
  if (kernels::gemm_backend() == kernels::GemmBackend::cblas) {
    console::print(
        "note     the CBLAS product is the tests' reference, and slow; unset VITRUVIAN_GEMM\n");
  }
}

void note(const std::string& text) {
  console::print(stderr, "{}\n", console::entry(stderr, "note: ", text));
}

void add_threads(const Parser& command) {
  const auto take = [](const std::string& text) {
    if (const std::size_t n = std::stoul(text); n != 0) set_threads(n);
  };
  command.add_text("--threads", "N", take, "Threads; 0 means one for each processor")
      .whole(0, 1024);
}

void add_machine_flags(const Parser& command) {
  add_threads(command);
  const auto take = [](const std::string& name) {
    constexpr auto names = names_of(Precision{});
    asked = static_cast<Precision>(index_of(name, {names.begin(), names.end()}, "precision"));
  };
  command
      .add_text(
          "--precision", "TEXT", take,
          "float, double, or bfloat16: products of factors\nwith 8 significant bits, all else "
          "float")
      .usual("float")
      .offers(names_of(Precision{}));
}

namespace {

void print_version() {
  console::print("vitruvian {}\n", VITRUVIAN_VERSION);
#ifdef __clang__
  console::print("built    clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  console::print("built    g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  console::print(", xtensor {}.{}.{}, fmt {}.{}.{}\n", XTENSOR_VERSION_MAJOR, XTENSOR_VERSION_MINOR,
                 XTENSOR_VERSION_PATCH, FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                 FMT_VERSION % 100);
  print_machine();
}

int run(int argc, char** argv) {
  arguments = argv;
  const Parser app("Vitruvian: a Vision Transformer drawn from first principles", "vitruvian");
  app.footer("'vitruvian COMMAND --help' tells the flags of a command.");
  bool version = false;
  app.add_flag("--version", version, "Versions, and what this program runs on");
  std::function<void()> command;
  for (const auto add :
       {add_train, add_eval, add_models, add_predict, add_few_shot, add_inspect, add_convert,
        add_trace, add_report, add_compare, add_data, add_weights, add_completion, add_man}) {
    add(app, command);
  }
  run_command_line(app, argc, argv, [&] {
    if (version) {
      print_version();
    } else if (command) {
      in_precision(asked);
      command();
    } else {
      console::print("{}", console::raw(app.help()));
    }
  });
  return static_cast<int>(Exit::ok);
}

}  // namespace
}  // namespace vitruvian

int main(int argc, char** argv) {
  return vitruvian::console::run("vitruvian", [&] { return vitruvian::run(argc, argv); });
}
