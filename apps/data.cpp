#include "apps/commands.hpp"
#include "apps/fetching.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/datasets/fetch/fetch.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/datasets/images.hpp"
#include "vitruvian/datasets/loader.hpp"
#include "vitruvian/media/image.hpp"

#include <fmt/format.h>

namespace vitruvian {
namespace {

struct DataOptions {
  std::string name, data = "data", out;
  FetchFlags fetch;
  std::uint64_t seed = 1;
  std::size_t columns = 8, image_size = 64;
  bool skip_bad = false;
};

void run_fetch(const DataOptions& options) {
  const PublicDataset& dataset = public_dataset(options.name);
  fetch(dataset, fetch_options(options.fetch, options.data));
  console::print("vitruvian train --dataset {} --data {}\n", options.name, options.data);
}

Source source_of(const DataOptions& options) {
  return {.name = options.name,
          .directory = options.name == "digits" ? "" : options.data,
          .seed = options.seed,
          .height = options.image_size,
          .width = options.image_size,
          .skip_bad = options.skip_bad};
}

void describe(const std::string& part, const Images& images,
              const std::vector<std::size_t>& subset) {
  const std::size_t n = subset.empty() ? images.size() : subset.size();
  console::print("{:<9} {} of {} x {} x {} in {}\n", part, counted(n, "image"),
                 images.about().height, images.about().width, images.about().channels,
                 counted(images.about().classes, "class"));
}

// A folder of the user's own: every picture is decoded.
void verify_folder(const DataOptions& options) {
  const ImageSplit split = open_images(source_of(options));
  describe("train", *split.train, split.train_subset);
  describe("test", *split.test, split.test_subset);
  if (!split.note.empty()) console::print("{}\n", split.note);
  if (!split.train->checksum().empty()) console::print("sha256    {}\n", split.train->checksum());
}

void run_verify(const DataOptions& options) {
  if (options.name == "folder") return verify_folder(options);
  std::size_t bad = 0;
  std::string first;
  for (const FileReport& report : verify(public_dataset(options.name), options.data)) {
    const char* const word = report.state == FileState::good      ? "right"
                             : report.state == FileState::missing ? "missing"
                             : report.state == FileState::wrong   ? "wrong"
                                                                  : "unknown";
    console::print("{:<8} {}{}\n", word, report.path.string(),
                   report.note.empty() ? "" : ": " + report.note);
    if (report.state != FileState::missing && report.state != FileState::wrong) continue;
    if (bad++ == 0) first = report.path.string();
  }
  if (bad > 0) {
    fail(Exit::data, "{}: {} missing or wrong ({}{}); 'vitruvian data fetch {}' brings them",
         options.name, counted(bad, "file"), first, bad > 1 ? ", ..." : "", options.name);
  }
}

void run_info(const DataOptions& options) {
  check_dataset_name(options.name);
  const std::vector<std::string> classes = class_names(options.name);
  if (options.name == "digits") {
    console::print("digits: drawn by the program, 40,000 and 4,000 of 28 x 28 grey\n");
  } else if (options.name == "folder") {
    console::print(
        "folder: a directory for each class, of PNG, JPEG, PGM and PPM, in DIR, or in DIR/train "
        "and DIR/test (or val, valid, validation)\n");
  } else {
    const PublicDataset& dataset = public_dataset(options.name);
    console::print("{}: {}\n", options.name, dataset.about);
    const std::string place =
        dataset.is_archive() ? options.data : options.data + "/" + dataset.folder;
    console::print("files, into {}:\n", place);
    for (const KnownFile& file : dataset.files) {
      console::print("  {}{}\n    {}\n", file.name,
                     file.bytes != 0 ? fmt::format("  {} bytes", file.bytes) : "",
                     file.sha256.empty() ? "MD5 " + file.md5 : "SHA-256 " + file.sha256);
    }
    if (dataset.is_archive()) console::print("unpacked to {}/{}\n", options.data, dataset.folder);
    console::print("mirrors:\n");
    for (const std::string& mirror : dataset.mirrors) console::print("  {}\n", mirror);
  }
  if (!classes.empty()) console::print("classes: {}\n", joined(classes));
}

void run_preview(const DataOptions& options) {
  if (!options.out.ends_with(".png") && !is_standard_output(options.out)) {
    fail(Exit::usage, "--out {}: the picture is a PNG: call it NAME.png", options.out);
  }
  const ImageSplit split = open_images(source_of(options));
  const ContactSheet sheet = contact_sheet(split.train, options.columns, options.seed);
  make_folder_of(options.out);
  write_png(options.out, sheet.picture);
  std::FILE* const told = is_standard_output(options.out) ? stderr : stdout;
  for (std::size_t i = 0; i < sheet.rows.size(); ++i)
    console::print(told, "row {:>2}  {}\n", i + 1, sheet.rows[i]);
  console::print(told, "{}\n", options.out);
}

}  // namespace

void add_data(const Parser& app, std::function<void()>& chosen) {
  const Parser data = app.add_commands("data", "Fetch, verify and look at data sets");
  const auto add = [&](const char* name, const char* what, void (*run)(const DataOptions&),
                       const std::vector<std::string>& names = dataset_names()) {
    const auto added = add_command<DataOptions>(data, chosen, name, what, run);
    auto& [command, options] = added;
    command.add_value("name", "NAME", options.name, joined(names)).required().offers(names);
    command.add_value("--data", "DIR", options.data, "The folder of the data sets");
    return added;
  };
  std::vector<std::string> with_files = dataset_names();
  std::erase(with_files, "digits");
  std::vector<std::string> published = with_files;
  std::erase(published, "folder");
  auto [fetching, fetched] =
      add("fetch", "Download a data set, check it and unpack it", run_fetch, published);
  add_fetch_flags(fetching, fetched.fetch);
  auto [verifying, verified] =
      add("verify", "Compare a data set's files with their checksums", run_verify, with_files);
  verifying.add_flag("--skip-bad", verified.skip_bad, "Leave out what cannot be used of a folder");
  add("info", "What a data set is, and where its files come from", run_info);
  auto [previewing, options] =
      add("preview", "A contact sheet of what each augmentation does", run_preview);
  previewing.add_value("--out", "FILE.png", options.out, "The picture to write").required();
  previewing.add_count("--seed", options.seed, "Of the choice and of everything that is drawn",
                       largest_seed);
  previewing.add_count("--columns", options.columns, "Pictures in a row", 64, 1);
  previewing.add_count("--image-size", options.image_size, "What the pictures of a folder become",
                       most_counted, 1);
  previewing.add_flag("--skip-bad", options.skip_bad, "Leave out what cannot be used of a folder");
}

}  // namespace vitruvian
