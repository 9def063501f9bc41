// Weights that others published: what there is, where it comes from, and a copy of it.

#include "apps/commands.hpp"
#include "apps/fetching.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/train/published.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace vitruvian {
namespace {

struct WeightsOptions {
  std::string name, into = "weights";
  FetchFlags fetch;
};

// What its numbers take; what the file has around them is next to nothing.
std::string size_of(const PublishedModel& model) {
  return console::human_bytes(model.config.parameters() * sizeof(float));
}

std::string outputs_of(const PublishedModel& model) {
  return model.config.head == Head::none ? "features" : counted(model.config.K, "class");
}

void run_list(const WeightsOptions&) {
  for (const PublishedModel& m : published_models()) {
    console::print("{:<16} {:>8}  {:<13} {}\n", m.name, size_of(m), outputs_of(m), m.about);
  }
  console::print("'vitruvian weights info NAME' tells more, 'weights fetch NAME' brings it\n");
}

// How `predict` and the others are to see pictures for it, beyond what they do by themselves.
std::string flags_of(const PublishedModel& m) {
  const bool by_itself = m.mean.front() == 0.5 || m.page.ends_with("pytorch/vision");
  return (by_itself ? ""
                    : fmt::format(" --mean {} --std {}", joined(m.mean, ","), joined(m.std, ","))) +
         (m.interpolation == "bilinear" ? "" : " --interpolation " + m.interpolation);
}

// The commands that go on from here.
void print_use(const PublishedModel& m, const std::string& into) {
  const auto in = [&](const std::string& file) {
    return (std::filesystem::path(into) / m.name / file).string();
  };
  if (m.config.head == Head::none) {
    console::print("vitruvian inspect --weights {}{} --out runs/inside IMAGE...\n", in(m.file),
                   flags_of(m));
  } else {
    console::print("vitruvian predict --weights {}{}{} IMAGE...\n", in(m.file),
                   m.names_imagenet() ? " --labels " + in("imagenet-1k.txt") : "", flags_of(m));
  }
}

const PublishedModel& chosen_model(const WeightsOptions& options) {
  if (options.name.empty()) fail(Exit::usage, "which weights? 'vitruvian weights list' names them");
  return published_model(options.name);
}

void run_info(const WeightsOptions& options) {
  const PublishedModel& m = chosen_model(options);
  const ViTConfig& c = m.config;
  console::print("{}: {}\n", m.name, m.about);
  console::print("model          {} x {}, P {}, D {}, L {}, h {}, {}\n", c.H, c.W, c.P, c.D, c.L,
                 c.h, outputs_of(m));
  console::print("parameters     {}, {} in float32\n", c.parameters(), size_of(m));
  console::print("file           {}{}\n", m.place, m.file);
  console::print("SHA-256        {}\n",
                 m.sha256.empty() ? "is not published" : "begins with " + m.sha256);
  console::print("source         {}\nlicence        {}, of that project\n", m.page, m.licence);
  console::print("pixels         {}\n", fmt::format("mean {}, std {}, {}", joined(m.mean, " "),
                                                    joined(m.std, " "), m.interpolation));
  console::print("class names    {}\n",
                 m.names_imagenet()     ? "ImageNet's, which fetch puts beside it"
                 : c.head == Head::none ? "none: it has no head"
                                        : "not here: ImageNet-21k's are WordNet's");
  print_use(m, options.into);
}

void run_fetch(const WeightsOptions& options) {
  const PublishedModel& model = chosen_model(options);
  fetch_model(model, fetch_options(options.fetch, options.into));
  print_use(model, options.into);
}

}  // namespace

void add_weights(const Parser& app, std::function<void()>& chosen) {
  const Parser weights =
      app.add_commands("weights", "Weights that others published: list, info, fetch");
  add_command<WeightsOptions>(weights, chosen, "list", "Which there are", run_list);
  const auto add = [&](const char* name, const char* what, void (*run)(const WeightsOptions&)) {
    const auto added = add_command<WeightsOptions>(weights, chosen, name, what, run);
    auto& [command, options] = added;
    command.add_value("name", "NAME", options.name, "One of `weights list`; must be given")
        .offers(names_in(published_models()));
    command.add_value("--into", "DIR", options.into, "The folder for them");
    return added;
  };
  add("info", "What they are, where they come from, and their licence", run_info);
  auto [fetching, options] = add("fetch", "Download them, and check what came", run_fetch);
  add_fetch_flags(fetching, options.fetch);
}

}  // namespace vitruvian
