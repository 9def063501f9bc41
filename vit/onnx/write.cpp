// The one file that knows protobuf: its header takes the compiler 200 MB.

#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/safe_file.hpp"
#include "vitruvian/vit/onnx/graph.hpp"

#include <cstdint>
#include <exception>

#if VITRUVIAN_HAS_ONNX
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/onnx_pb.h>
#endif

namespace vitruvian {
namespace {

// A protobuf message ends where a signed 32-bit length does; the graph around the weights is small.
constexpr std::uint64_t largest_message = (std::uint64_t{1} << 31U) - (std::uint64_t{1} << 24U);

void check_size(const OnnxGraph& graph) {
  std::uint64_t bytes = 0;
  for (const StoredTensor& t : graph.weights) bytes += std::uint64_t{4} * t.size();
  if (bytes > largest_message) {
    fail(Exit::usage,
         "{}: its weights are {:.1f} GB, but an ONNX file is one protobuf message, which ends at 2 "
         "GB; convert --scheme writes safetensors of any size",
         graph.source, static_cast<double>(bytes) / 1e9);
  }
}

}  // namespace

#if VITRUVIAN_HAS_ONNX

namespace {

namespace pb = google::protobuf;

void set_attribute(onnx::AttributeProto& to, const OnnxAttribute& attribute) {
  to.set_name(attribute.name);
  if (const auto* const n = std::get_if<std::int64_t>(&attribute.value)) {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(*n);
  } else if (const auto* const x = std::get_if<double>(&attribute.value)) {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(static_cast<float>(*x));
  } else {
    to.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t i : std::get<std::vector<std::int64_t>>(attribute.value))
      to.add_ints(i);
  }
}

// (B, lengths...), float32.
void set_images_type(onnx::ValueInfoProto& to, const std::string& name,
                     const std::vector<std::size_t>& lengths) {
  to.set_name(name);
  auto& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("B");
  for (const std::size_t n : lengths) {
    type.mutable_shape()->add_dim()->set_dim_value(static_cast<std::int64_t>(n));
  }
}

void set_weights(onnx::TensorProto& to, const StoredTensor& tensor) {
  to.set_name(tensor.name);
  to.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::size_t n : tensor.shape) to.add_dims(static_cast<std::int64_t>(n));
  if (tensor.dtype == Dtype::f32) {
    const Bytes bytes = tensor.read();  // little-endian, as ONNX has them
    to.set_raw_data(bytes.data(), bytes.size());
    return;
  }
  const std::vector<double> values = tensor.values();
  const std::vector<float> rounded(values.begin(), values.end());
  to.set_raw_data(rounded.data(), rounded.size() * sizeof(float));
}

// Protobuf's bytes on their way into a file. An exception must not pass through protobuf, whose
// destructors write what is left.
class Pieces : public pb::io::CopyingOutputStream {
 public:
  explicit Pieces(const WriteBytes& write) : write_(write) {}
  bool Write(const void* bytes, int size) override {
    try {
      write_({static_cast<const char*>(bytes), static_cast<std::size_t>(size)});
      return true;
    } catch (...) {
      error_ = std::current_exception();
      return false;
    }
  }
  void throw_error() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const WriteBytes& write_;
  std::exception_ptr error_;
};

onnx::ModelProto message_of(const OnnxGraph& graph, const Metadata& metadata) {
  onnx::ModelProto model;
  model.set_ir_version(8);  // of the format's release that has this operator set
  model.set_producer_name("vitruvian");
  auto& operators = *model.add_opset_import();
  operators.set_domain("");
  operators.set_version(onnx_opset);
  for (const auto& [key, value] : metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::GraphProto& to = *model.mutable_graph();
  to.set_name("ViT");
  set_images_type(*to.add_input(), "images", graph.image);
  set_images_type(*to.add_output(), graph.output, {graph.width});
  for (const StoredTensor& t : graph.weights) set_weights(*to.add_initializer(), t);
  for (const OnnxIntegers& list : graph.integers) {
    auto& tensor = *to.add_initializer();
    tensor.set_name(list.name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    for (const std::int64_t n : list.shape) tensor.add_dims(n);
    for (const std::int64_t n : list.values) tensor.add_int64_data(n);
  }
  for (const OnnxNode& node : graph.nodes) {
    auto& operation = *to.add_node();
    operation.set_name(node.output);
    operation.set_op_type(node.op);
    for (const std::string& input : node.inputs) operation.add_input(input);
    operation.add_output(node.output);
    for (const OnnxAttribute& a : node.attributes) set_attribute(*operation.add_attribute(), a);
  }
  return model;
}

}  // namespace

void write_onnx(const std::string& path, const OnnxGraph& graph, const Metadata& metadata) {
  check_size(graph);
  const onnx::ModelProto model = message_of(graph, metadata);
  write_file_safely(path, [&](const WriteBytes& write) {
    Pieces pieces(write);
    pb::io::CopyingOutputStreamAdaptor stream(&pieces);
    const bool written = model.SerializeToZeroCopyStream(&stream) && stream.Flush();
    pieces.throw_error();
    if (!written) fail("{}: protobuf cannot write this graph", path);
  });
}

#else

void write_onnx(const std::string& path, const OnnxGraph& graph, const Metadata&) {
  check_size(graph);
  fail(Exit::failure,
       "{}: this build writes no ONNX files: it was made without libonnx and protobuf", path);
}

#endif

}  // namespace vitruvian
