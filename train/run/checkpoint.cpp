#include "vitruvian/train/run/run.hpp"

#include "vitruvian/nn/safetensors.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vitruvian {
inline namespace VITRUVIAN_PRECISION {
namespace {

// The weights under their names in the file. An optimizer's memory is made of parameters, too, so
// that it is written and read as they are.
std::vector<NamedParameter> weights_of(const RunArrays& arrays) {
  std::vector<NamedParameter> all;
  for (const auto& [prefix, parameters] :
       {std::pair{"model.", &arrays.model}, std::pair{"ema.", &arrays.ema}}) {
    for (const NamedParameter& p : *parameters) all.push_back({prefix + p.name, p.role, p.tensor});
  }
  return all;
}

}  // namespace

void save_checkpoint(const std::string& path, RunState state, const RunArrays& arrays) {
  state.moments_t.clear();
  std::vector<NamedParameter> all = weights_of(arrays);
  for (const auto& [name, moments] : arrays.optimizer->state()) {
    state.moments_t[name] = moments.t;
    if (moments.m) all.push_back({"optimizer." + name + ".m", Role::weight, Tensor(*moments.m)});
    if (moments.v) all.push_back({"optimizer." + name + ".v", Role::weight, Tensor(*moments.v)});
  }
  write_checkpoint(path, state, stored_tensors(all));
}

void restore(const CheckpointFile& file, const RunArrays& arrays) {
  // Which moments there are depends on the optimizer and on whether it has taken a step: the file
  // says, and their shapes are the parameters'.
  std::map<std::string, Moments> moments;
  std::vector<NamedParameter> all = weights_of(arrays);
  std::vector<std::pair<std::optional<Array>*, Tensor>> places;
  for (const NamedParameter& p : arrays.model) {
    Moments& mine = moments[p.name];
    if (const auto t = file.state.moments_t.find(p.name); t != file.state.moments_t.end()) {
      mine.t = t->second;
    }
    for (const auto& [suffix, moment] : {std::pair{".m", &mine.m}, std::pair{".v", &mine.v}}) {
      const std::string name = "optimizer." + p.name + suffix;
      if (file.tensors.find(name) == nullptr) continue;
      all.push_back({name, p.role, Tensor(zeros(p.tensor.shape()))});
      places.emplace_back(moment, all.back().tensor);
    }
  }
  load(all, file.tensors);
  for (const auto& [moment, tensor] : places) *moment = tensor.value();
  arrays.optimizer->set_state(std::move(moments));
}

}  // namespace VITRUVIAN_PRECISION
}  // namespace vitruvian
