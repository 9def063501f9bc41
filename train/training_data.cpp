#include "vitruvian/train/training_data.hpp"

#include "vitruvian/datasets/batch.hpp"
#include "vitruvian/datasets/formats/folder.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/train/run/checkpoint_file.hpp"
#include "vitruvian/train/run/run_directory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace vitruvian {
namespace {

std::string checksum(const Dataset& data) {
  const std::vector<std::uint8_t> labels(data.labels.begin(), data.labels.end());  // of formats
  return fmt::format("{:08x}", crc32_of(labels.data(), labels.size(),
                                        crc32_of(data.pixels.data(), data.pixels.size())));
}

// Where there is none: what is known of the pixels, which notices another picture, if not its
// label.
std::string checksum(const Images& images) {
  if (std::string known = images.checksum(); !known.empty()) return known;
  const Dataset& about = images.about();
  return fmt::format("{} of mean {} and std {}", images.size(), joined(about.mean, " "),
                     joined(about.std, " "));
}

// The images at another size, each stretched as Pillow does it (bilinear, with antialias).
Dataset resized(const Dataset& data, std::size_t height, std::size_t width) {
  Dataset result{data.name, data.channels, height,           width,     data.classes,
                 {},        data.labels,   data.class_names, data.mean, data.std};
  result.pixels.resize(data.size() * result.image_size());
  const Fit fit{height, width, data.channels, Filter::bilinear, false};
  for (std::size_t n = 0; n < data.size(); ++n) {
    const Image image = from_planes(data.image(n).data(), data.channels, data.height, data.width);
    to_planes(fitted(image, fit), result.pixels.data() + n * result.image_size());
  }
  return result;
}

// At the model's size where nothing else is wrong with them; or as they are, so that an error names
// the size that they have.
Dataset at_size_of(const ViTConfig& model, Dataset data) {
  const bool fits = data.channels == model.C && data.classes == model.K;
  if (!fits || (data.height == model.H && data.width == model.W)) return data;
  return resized(data, model.H, model.W);
}

// Where test pictures are drawn from the training folder, other files in it are another draw.
void note_other_pictures(const Source& source, const std::string& run, const Images& images,
                         std::string& note) {
  if (run.empty() || !folder_parts(source.directory).test.empty()) return;
  const std::string before = maker_of(config_of_run(run), "data_checksum");
  const std::string now = checksum(images);
  if (before == now || before.starts_with(now + TrainingData::of_teacher)) return;
  note += fmt::format(
      "{}{}: its pictures are not those that {} was made with: another fifth of them is drawn to "
      "test, and may hold some that it learned from; folders train and test keep them apart",
      note.empty() ? "" : "; ", source.directory, run);
}

// Where the names of classes are known, what is right of one set may be wrong of another.
void note_other_classes(const DataConfig& trained, const Dataset& data, std::string& note) {
  const std::vector<std::string> theirs = trained.class_names(data.classes);
  for (std::size_t k = 0; k < std::min(theirs.size(), data.class_names.size()); ++k) {
    if (theirs[k] == data.class_names[k]) continue;
    note = fmt::format(
        "class {} of these images is '{}', and of those that the model learned '{}': it is judged "
        "by the numbers of the classes",
        k, data.class_names[k], theirs[k]);
    return;
  }
}

// `run` is the directory of the one that the weights are of, empty where there is none.
Loader open_test(Source source, const ViTConfig& model, const DataConfig& trained,
                 const std::string& run, std::string& note) {
  LoaderOptions how{.mean = trained.mean, .std = trained.std};
  if (source.name != "folder") {
    Dataset data = at_size_of(model, load_test(source));
    check_shapes(model, data);
    note_other_classes(trained, data, note);
    return Loader(std::move(data), std::move(how));
  }
  source.height = model.H;
  source.width = model.W;
  source.channels = model.C;
  TestImages test = open_test_images(source, trained.classes);
  check_shapes(model, test.images->about());
  note = test.note;
  note_other_pictures(source, run, *test.images, note);
  how.subset = std::move(test.subset);
  return Loader(test.images, std::move(how));
}

}  // namespace

void check_shapes(const ViTConfig& model, const Dataset& data) {
  if (model.C != data.channels || model.H != data.height || model.W != data.width ||
      model.K != data.classes) {
    fail(Exit::data,
         "{}: images of {} x {} x {} in {} classes, but the model takes {} x {} x {} in {}",
         data.name, data.channels, data.height, data.width, data.classes, model.C, model.H, model.W,
         model.K);
  }
}

Loader test_data(const TestImageOptions& said, const std::string& weights, const ViTConfig& model,
                 const DataConfig& trained, std::string& note) {
  Source source{.name = said.dataset,
                .directory = said.data,
                .seed = data_seed,
                .test_size = said.test_size.value_or(0),
                .skip_bad = said.skip_bad};
  const std::string directory = run_of(weights);
  bool where_it_was = false;
  if (!directory.empty()) {
    const TrainOptions run = settings_of_run(directory);
    if (source.name.empty()) source.name = run.dataset;
    if (source.name == run.dataset) {
      where_it_was = source.directory.empty() && !run.data.empty();
      if (where_it_was) source.directory = run.data;
      if (!said.test_size) source.test_size = run.test_size;
      source.skip_bad = source.skip_bad || run.skip_bad;
    }
  }
  if (source.name.empty()) source.name = trained.dataset;
  if (source.name.empty()) {
    fail(Exit::usage, "{}: it does not say what it was trained on: --dataset NAME does", weights);
  }
  check_dataset_name(source.name);
  check_data_given(source.name, source.directory);
  try {
    return open_test(source, model, trained, directory, note);
  } catch (const Error& error) {
    if (!where_it_was) throw;
    throw perhaps_moved(error, directory);
  }
}

Error perhaps_moved(const Error& error, const std::string& run) {
  if (error.exit() != Exit::data) return error;
  return {Exit::data, fmt::format("{}; {} was trained on it: --data DIR says where it is now",
                                  error.what(), run)};
}

std::uint64_t TrainingData::resident_bytes() const {
  static constexpr std::size_t ahead = 256;  // see Loader::announce
  const auto bytes_of = [](const Images& some) -> std::uint64_t {
    return (some.slow() ? std::min(some.size(), ahead) : some.size()) * some.about().image_size();
  };
  return bytes_of(*images.train) + (images.test == images.train ? 0 : bytes_of(*images.test));
}

Loader test_images_of(const TrainingData& data) {
  const Dataset& about = data.images.train->about();
  return Loader(data.images.test,
                {.subset = data.images.test_subset, .mean = about.mean, .std = about.std});
}

DataConfig data_config_of(const TrainingData& data) {
  const Dataset& about = data.images.train->about();
  DataConfig result{about.name, about.mean, about.std, {}};
  if (class_names(about.name).empty()) result.classes = about.class_names;  // others are known
  return result;
}

namespace {

// Those that train, and those that validate.
TrainingData divided(const TrainOptions& options, ImageSplit images, std::string known_checksum) {
  TrainingData data{std::move(images), {}, std::move(known_checksum)};
  const Images& train = *data.images.train;
  std::vector<std::size_t>& all = data.indices.train;
  all = data.images.train_subset.empty() ? natural_order(train.size()) : data.images.train_subset;
  if (options.val_fraction > 0) {
    std::vector<std::size_t> labels;
    // Who learns without labels does not look at them here either.
    const bool labelled = options.task == Task::classify;
    for (const std::size_t i : all) labels.push_back(labelled ? train.label(i) : 0);
    Parts parts = split_validation(labels, options.val_fraction, options.seed);
    for (std::vector<std::size_t>* part : {&parts.train, &parts.validation}) {
      for (std::size_t& i : *part) i = all[i];
    }
    data.indices = std::move(parts);
  }
  return data;
}

TrainingData open_training(const TrainOptions& options) {
  const ViTConfig& model = options.model;
  const Source source{.name = options.dataset,
                      .directory = options.data,
                      .seed = data_seed,
                      .train_size = options.train_size,
                      .test_size = options.test_size,
                      .height = model.H,
                      .width = model.W,
                      .channels = model.C,
                      .skip_bad = options.skip_bad};
  if (options.dataset == "folder") {
    ImageSplit images = open_images(source);
    check_shapes(model, images.train->about());
    return training_data(options, std::move(images));
  }
  Split split = load(source);
  std::string known = checksum(split.train) + "-" + checksum(split.test);
  if (options.image_size != 0) {
    for (Dataset* part : {&split.train, &split.test}) *part = at_size_of(model, std::move(*part));
  }
  check_shapes(model, split.train);
  return divided(options,
                 {std::make_shared<MemoryImages>(std::move(split.train)),
                  std::make_shared<MemoryImages>(std::move(split.test))},
                 std::move(known));
}

}  // namespace

void check_there(const ImageSplit& images) {
  if (!images.train) fail(Exit::usage, "there are no images to train on: `train` is null");
  if (!images.test) fail(Exit::usage, "there are no images to test with: `test` is null");
}

TrainingData training_data(const TrainOptions& options, ImageSplit images) {
  check_there(images);
  for (const Images* part : {images.train.get(), images.test.get()}) {
    for (std::size_t i = 0; i < part->size(); ++i) {
      if (part->label(i) < part->about().classes) continue;
      fail(Exit::data, "{}: image {} is of class {} among {}", part->about().name, i,
           part->label(i), part->about().classes);
    }
  }
  std::string known = checksum(*images.train);
  if (images.test != images.train) known += "-" + checksum(*images.test);
  return divided(options, std::move(images), std::move(known));
}

TrainingData training_data(const TrainOptions& options) {
  try {
    return open_training(options);
  } catch (const Error& error) {
    if (!options.resume) throw;
    throw perhaps_moved(error, options.out);
  }
}

}  // namespace vitruvian
