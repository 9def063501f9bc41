#pragma once

#include "vitruvian/datasets/fetch/fetch.hpp"
#include "vitruvian/vit/config.hpp"

#include <string>
#include <vector>

// Where weights are that others published, and what has to be known of them.

namespace vitruvian {

struct PublishedModel {
  std::string name;     ///< "dino_s16"
  std::string about;    ///< a line for people
  std::string page;     ///< of the project that published it
  std::string licence;  ///< of that project
  std::string place;    ///< the URL of the file's folder, which ends in '/'
  std::string file;
  std::string sha256{};  ///< or its first digits; empty where none is published
  ViTConfig config;      ///< what the file must hold
  /// How it saw pictures: its mean and std of pixels in [0, 1], and how they became smaller.
  std::vector<double> mean, std;
  std::string interpolation;

  /// Whether its outputs are ImageNet's 1000 classes, whose names are `imagenet_classes()`.
  [[nodiscard]] bool names_imagenet() const;
  /// What `fetch` brings: this one file.
  [[nodiscard]] PublicDataset download() const;
};

const std::vector<PublishedModel>& published_models();
/// Throws (Exit::usage), with the nearest that there is, for a name that is not among them.
const PublishedModel& published_model(const std::string& name);

/// One a line, in the order of the outputs.
const char* imagenet_classes();

/// Throws (Exit::checkpoint), naming the file and both, where a file does not hold this model.
void check_holds(const std::string& path, const PublishedModel& model);

/// Brings a model's file to options.directory/NAME, as data sets are brought
/// (datasets/fetch/fetch.hpp), and opens it: what is not that model is an error, and where no
/// checksum is published the file is taken away again. Beside a model of ImageNet's classes it puts
/// their names, imagenet-1k.txt. Returns the file's path. Throws as `fetch` and `check_holds` do.
std::string fetch_model(const PublishedModel& model, const FetchOptions& options);

}  // namespace vitruvian
