#include "vitruvian/report/run_record.hpp"

#include "vitruvian/core/base/byte_source.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/json.hpp"
#include "vitruvian/train/run/run_directory.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

namespace vitruvian {
namespace {

namespace fs = std::filesystem;
using Line = SortedJson;  // finds a key among many

constexpr std::uint64_t largest_config = 1'000'000;
constexpr std::uint64_t largest_metrics = 1'000'000'000;
constexpr int deepest_config = 16;
constexpr std::size_t most_keys = 1000;

void flatten(const Json& json, const std::string& key,
             std::vector<std::pair<std::string, std::string>>& settings) {
  if (json.is_object()) {
    for (const auto& item : json.items()) {
      flatten(item.value(), key.empty() ? item.key() : key + "." + item.key(), settings);
    }
  } else {
    settings.emplace_back(key, json.is_string() ? json.get<std::string>() : dump_json(json));
  }
}

// Calls `use` with every line's object.
template <class Line, class Use>
void read_lines(const ByteSource& source, const Use& use) {
  std::istringstream lines(source.text(largest_metrics, "a run's file"));
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const Line json = parse_json<Line>(line, nullptr, false);
    if (json.is_object()) {
      use(json, number);
    } else if (!lines.eof()) {  // the last line was being written when the run was killed
      fail(Exit::data, "{}: line {} is no JSON object", source.name(), number);
    }
  }
}

// A cell of a table. Numbers stand as they are; text is quoted where it must be, and what a
// spreadsheet would compute begins with an apostrophe.
std::string cell_of(const Json& value) {
  if (value.is_null()) return "";
  std::string text = value.is_string() ? value.get<std::string>() : dump_json(value);
  if (value.is_number()) return text;
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos) {
    text.insert(0, 1, '\'');
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

double number_of(const Line& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<double>() : not_recorded;
}

std::size_t epoch_of(const Line& json, const ByteSource& source, std::size_t line) {
  const double epoch = number_of(json, "epoch");
  if (!(epoch >= 1 && epoch <= 1e9)) {
    fail(Exit::data, "{}: line {} has no 'epoch' from 1", source.name(), line);
  }
  return static_cast<std::size_t>(epoch);
}

}  // namespace

std::string RunRecord::setting(const std::string& key) const {
  for (const auto& entry : settings) {
    if (entry.first == key) return entry.second;
  }
  return "";
}

std::size_t RunRecord::count(const std::string& key) const {
  const std::string text = setting(key);
  const bool whole = !text.empty() && text.size() <= 18 &&
                     text.find_first_not_of("0123456789") == std::string::npos;
  return whole ? std::stoul(text) : 0;
}

double RunRecord::steps_an_epoch() const {
  for (const Epoch& e : epochs) {
    if (e.step > 0) return e.step / static_cast<double>(e.epoch);
  }
  return 0;
}

bool RunRecord::validated() const {
  return std::any_of(epochs.begin(), epochs.end(),
                     [](const Epoch& e) { return !std::isnan(e.val_accuracy); });
}

const RunRecord::Epoch* RunRecord::best() const {
  const auto accuracy = validated() ? &Epoch::val_accuracy : &Epoch::test_accuracy;
  const Epoch* best = nullptr;
  for (const Epoch& e : epochs) {
    if (!std::isnan(e.*accuracy) && (best == nullptr || e.*accuracy > best->*accuracy)) best = &e;
  }
  return best;
}

void read_metrics(const ByteSource& source, RunRecord& run) {
  read_lines<Line>(source, [&](const Line& json, std::size_t line) {
    const auto found = json.find("kind");
    const std::string kind =
        found != json.end() && found->is_string() ? found->get<std::string>() : "";
    if (kind == "step") {
      run.steps.push_back({number_of(json, "step"), number_of(json, "loss"), number_of(json, "lr"),
                           number_of(json, "grad_norm")});
      if (!(run.steps.back().step >= 0)) {
        fail(Exit::data, "{}: line {} has no 'step'", source.name(), line);
      }
    } else if (kind == "epoch") {
      run.epochs.push_back({epoch_of(json, source, line), number_of(json, "step"),
                            number_of(json, "train_loss"), number_of(json, "train_accuracy"),
                            number_of(json, "val_loss"), number_of(json, "val_accuracy"),
                            number_of(json, "test_loss"), number_of(json, "test_accuracy"),
                            number_of(json, "lr"), number_of(json, "grad_norm")});
      const RunRecord::Epoch& e = run.epochs.back();
      if (!std::isnan(e.test_loss)) run.test_loss = e.test_loss;
      if (!std::isnan(e.test_accuracy)) run.test_accuracy = e.test_accuracy;
    } else if (kind == "test") {
      run.test_loss = number_of(json, "test_loss");
      run.test_accuracy = number_of(json, "test_accuracy");
    }  // other kinds are of later versions
  });
}

std::string metrics_csv(const std::string& directory) {
  const fs::path path = fs::path(read_run(directory).directory) / "metrics.jsonl";
  if (!fs::exists(path)) return "";
  const RegularFile file(path.string(), Exit::data);
  std::vector<std::string> columns;
  read_lines<Json>(file, [&](const Json& json, std::size_t) {
    for (const auto& item : json.items()) {
      if (std::find(columns.begin(), columns.end(), item.key()) != columns.end()) continue;
      if (columns.size() == most_keys) {
        fail(Exit::data, "{}: more than {} names", path.string(), most_keys);
      }
      columns.push_back(item.key());
    }
  });
  if (columns.empty()) return "";
  std::vector<std::string> cells;
  for (const std::string& name : columns) cells.push_back(cell_of(name));
  std::string csv = fmt::format("{}\r\n", joined(cells, ","));
  read_lines<Json>(file, [&](const Json& line, std::size_t) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto found = line.find(columns[i]);
      cells[i] = found == line.end() ? "" : cell_of(*found);
    }
    csv += fmt::format("{}\r\n", joined(cells, ","));
  });
  return csv;
}

// The seconds of a line are since its process began, which was after the step that it names.
void read_timing(const ByteSource& source, RunRecord& run) {
  double before = 0;  // of earlier processes
  double after_step = 0;
  double seconds = 0;
  double pace = 0;
  double lines = 0;
  read_lines<Line>(source, [&](const Line& json, std::size_t) {
    const double s = number_of(json, "seconds");
    const double p = number_of(json, "images_per_second");
    if (std::isnan(s) || std::isnan(p)) return;
    const double began = number_of(json, "after_step");  // absent in old files
    if (s < seconds || began > after_step) before += seconds;
    after_step = std::isnan(began) ? 0 : began;
    seconds = s;
    pace += p;
    ++lines;
  });
  if (lines == 0) return;
  run.seconds = before + seconds;
  run.images_per_second = pace / lines;
}

RunRecord read_run(const std::string& directory) {
  const fs::path path(directory);
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    fail(Exit::data, "{}: {}", directory,
         fs::exists(path, ignored) ? "a file, and no run's folder" : "there is no such folder");
  }
  if (!fs::exists(path / "config.json", ignored)) {
    fail(Exit::data, "{}: no run directory, for it has no config.json{}", directory, runs_in(path));
  }
  RunRecord run;
  run.directory = directory;
  const fs::path absolute = fs::absolute(path).lexically_normal();
  run.name = (absolute.has_filename() ? absolute : absolute.parent_path()).filename().string();
  const fs::path config = path / "config.json";
  std::size_t keys = 0;
  const auto check = [&](int depth, Json::parse_event_t event, Json&) {
    if (depth > deepest_config) fail(Exit::data, "{}: nested too deeply", config.string());
    if (event == Json::parse_event_t::key && ++keys > most_keys) {
      fail(Exit::data, "{}: more than {} settings", config.string(), most_keys);
    }
    return true;
  };
  const RegularFile file(config.string(), Exit::data);
  const Json json = parse_json(file.text(largest_config, "a run's config"), check, false);
  if (!json.is_object()) fail(Exit::data, "{}: is no JSON object", config.string());
  flatten(json, "", run.settings);
  for (const auto& [name, read] :
       {std::pair{"metrics.jsonl", &read_metrics}, std::pair{"timing.jsonl", &read_timing}}) {
    if (fs::exists(path / name)) read(RegularFile((path / name).string(), Exit::data), run);
  }
  return run;
}

}  // namespace vitruvian
