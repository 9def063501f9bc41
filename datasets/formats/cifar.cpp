#include "vitruvian/datasets/formats/cifar.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/datasets/fetch/file.hpp"

#include <cstdint>
#include <sstream>
#include <utility>
#include <vector>

namespace vitruvian {
namespace {

constexpr std::size_t pixels_of_record = 3 * 32 * 32;

// The classes in the order of the labels: CIFAR-100's as coarse_label_names and fine_label_names in
// its batches.meta have them.
constexpr auto names_of_10 = "airplane automobile bird cat deer dog frog horse ship truck";
constexpr auto coarse_names =
    "aquatic_mammals fish flowers food_containers fruit_and_vegetables "
    "household_electrical_devices household_furniture insects large_carnivores "
    "large_man-made_outdoor_things large_natural_outdoor_scenes "
    "large_omnivores_and_herbivores medium_mammals non-insect_invertebrates people "
    "reptiles small_mammals trees vehicles_1 vehicles_2";
constexpr auto fine_names =
    "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge "
    "bus butterfly camel can castle caterpillar cattle chair chimpanzee clock cloud "
    "cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish forest fox "
    "girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster "
    "man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter "
    "palm_tree pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit "
    "raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake "
    "spider squirrel streetcar sunflower sweet_pepper table tank telephone television "
    "tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm";

Dataset empty_cifar(std::string name, const char* class_names) {
  Dataset data;
  data.name = std::move(name);
  data.channels = 3;
  data.height = data.width = 32;
  std::istringstream names(class_names);
  for (std::string one; names >> one;) data.class_names.push_back(one);
  data.classes = data.class_names.size();
  return data;
}

}  // namespace

Dataset empty_cifar10() {
  Dataset data = empty_cifar("cifar10", names_of_10);
  data.mean = {0.49139968, 0.48215841, 0.44653091};
  data.std = {0.24703223, 0.24348513, 0.26158784};
  return data;
}

Dataset empty_cifar100(bool coarse) {
  Dataset data =
      coarse ? empty_cifar("cifar100-coarse", coarse_names) : empty_cifar("cifar100", fine_names);
  data.mean = {0.50707516, 0.48654887, 0.44091784};
  data.std = {0.26733429, 0.25643846, 0.27615047};
  return data;
}

void append_cifar(Dataset& data, const ByteSource& source, std::size_t records) {
  // The labels before each picture are below these; one of them is kept.
  const bool of_10 = data.classes == 10;
  const std::vector<std::size_t> classes =
      of_10 ? std::vector<std::size_t>{10} : std::vector<std::size_t>{20, 100};
  const std::size_t kept = data.classes == 100 ? 1 : 0;
  DataFile file(source);
  const std::uint64_t record = classes.size() + pixels_of_record;
  const std::vector<std::uint8_t> bytes =
      file.take(records * record, fmt::format("{} records", records));
  file.expect_end();
  for (std::size_t i = 0; i < records; ++i) {
    const std::uint8_t* const start = bytes.data() + i * record;
    for (std::size_t k = 0; k < classes.size(); ++k) {
      if (start[k] < classes[k]) continue;
      fail(Exit::data, "{}: at offset {} (record {}) expected a label from 0 to {}, found {}",
           file.name(), i * record + k, i, classes[k] - 1, start[k]);
    }
    data.labels.push_back(start[kept]);
    data.pixels.insert(data.pixels.end(), start + classes.size(), start + record);
  }
}

void read_cifar(Dataset& data, const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    const bool all = file.filename().string().starts_with("train.bin");
    append_cifar(data, RegularFile(file.string(), Exit::data), all ? 50'000 : 10'000);
  }
}

}  // namespace vitruvian
