#include "vitruvian/train/run/run.hpp"

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/nn/safetensors.hpp"

#include <map>
#include <utility>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// The arrays under their names in the file. An optimizer's memory is made of parameters here, so
// that it is written and read as they are.
std::vector<NamedParameter> prefixed(const std::string& prefix,
                                     const std::vector<NamedParameter>& parameters) {
  std::vector<NamedParameter> result;
  for (const NamedParameter& p : parameters) result.push_back({prefix + p.name, p.role, p.tensor});
  return result;
}

void append(std::vector<NamedParameter>& to, std::vector<NamedParameter> more) {
  for (NamedParameter& p : more) to.push_back(std::move(p));
}

std::vector<NamedParameter> moments_of(const std::map<std::string, Moments>& state) {
  std::vector<NamedParameter> result;
  for (const auto& [name, moments] : state) {
    if (moments.m) result.push_back({"optimizer." + name + ".m", Role::weight, Tensor(*moments.m)});
    if (moments.v) result.push_back({"optimizer." + name + ".v", Role::weight, Tensor(*moments.v)});
  }
  return result;
}

}  // namespace

void save_checkpoint(const std::string& path, RunState state, const RunArrays& arrays) {
  state.moments_t.clear();
  for (const auto& [name, moments] : arrays.optimizer->state()) state.moments_t[name] = moments.t;
  std::vector<NamedParameter> all = prefixed("model.", arrays.model);
  append(all, prefixed("ema.", arrays.ema));
  append(all, moments_of(arrays.optimizer->state()));
  write_checkpoint(path, state, stored_tensors(all));
}

void restore(const CheckpointFile& file, const RunArrays& arrays) {
  // Which moments there are depends on the optimizer and on whether it has taken a step: the file
  // says, and their shapes are the parameters'.
  std::map<std::string, Moments> moments;
  std::vector<NamedParameter> all = prefixed("model.", arrays.model);
  append(all, prefixed("ema.", arrays.ema));
  for (const NamedParameter& p : arrays.model) {
    Moments& mine = moments[p.name];
    if (const auto t = file.state.moments_t.find(p.name); t != file.state.moments_t.end()) {
      mine.t = t->second;
    }
    for (const auto& [suffix, moment] : {std::pair{".m", &mine.m}, std::pair{".v", &mine.v}}) {
      const std::string name = "optimizer." + p.name + suffix;
      if (file.tensors.find(name) == nullptr) continue;
      *moment = zeros(p.tensor.shape());
      all.push_back({name, p.role, Tensor(zeros(p.tensor.shape()))});
    }
  }
  load(all, file.tensors);
  std::map<std::string, Tensor> loaded;
  for (const NamedParameter& p : all) loaded.emplace(p.name, p.tensor);
  for (auto& [name, mine] : moments) {
    if (mine.m) mine.m = loaded.at("optimizer." + name + ".m").value();
    if (mine.v) mine.v = loaded.at("optimizer." + name + ".v").value();
  }
  arrays.optimizer->set_state(std::move(moments));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
