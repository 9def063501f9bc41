#pragma once

#include "vitruvian/nn/tensor_file.hpp"
#include "vitruvian/train/ranks/ranks.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace vitruvian {

/// Where a run is: all of it but its arrays.
struct RunState {
  std::string settings;    ///< TrainOptions::to_json() of the run that wrote it
  std::string data;        ///< the checksum of its images and labels
  std::uint64_t key = 0;   ///< of its generator
  std::size_t epochs = 0;  ///< that are finished
  std::size_t step = 0;    ///< steps that are done, of the whole run
  double loss_sum = 0;     ///< of the epoch under way, and so the next four
  double grad_norm_sum = 0;
  double lr = 0;
  std::size_t correct = 0;
  std::size_t seen = 0;        ///< images, or what was asked of them: see Learner::rows
  std::size_t best_epoch = 0;  ///< 0: none yet
  double best_accuracy = 0;
  double best_loss = 0;
  std::uint64_t metrics_size = 0;  ///< bytes of metrics.jsonl
  bool finished = false;
  std::map<std::string, std::uint64_t> moments_t;  ///< steps that the optimizer took of each

  friend bool operator==(const RunState&, const RunState&) = default;
};

/// A checkpoint is a safetensors file: tensors "model.<parameter>", "optimizer.<parameter>.m" and
/// ".v", "ema.<parameter>"; its metadata hold the state as JSON, with the CRC-32 of every tensor,
/// and the CRC-32 of that JSON. The same state gives the same bytes.
struct CheckpointFile {
  RunState state;
  TensorFile tensors;  ///< in memory, checked
};

/// Writes one safely. Throws (Exit::failure) naming the path and the reason.
void write_checkpoint(const std::string& path, const RunState& state,
                      std::vector<StoredTensor> tensors);
/// Reads it back. Throws (Exit::checkpoint), naming the file and what is wrong, unless every byte
/// of it is as it was written and every field of the state is in its range.
CheckpointFile read_checkpoint(const std::shared_ptr<const ByteSource>& source);
CheckpointFile read_checkpoint(const std::string& path);

/// Gives all ranks the checkpoint that rank 0 has read.
void broadcast_checkpoint(Ranks& ranks, CheckpointFile& file);

/// What a checkpoint's metadata say.
struct CheckpointState {
  RunState state;
  std::map<std::string, std::string> crc32;  ///< of each tensor, in hexadecimal
};
std::string to_json(const CheckpointState& state);
/// Parses it. Throws (Exit::checkpoint), naming `source` and the field.
CheckpointState parse_checkpoint_state(const std::string& json, const std::string& source);

/// CRC-32 of more bytes after those that gave `crc`; 0 to begin with.
std::uint32_t crc32_of(const void* bytes, std::size_t size, std::uint32_t crc = 0);

}  // namespace vitruvian
