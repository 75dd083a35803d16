// Model files of realrun: an MLP, a convolutional net or a transformer encoder over image patches,
// by its sizes. The same file drives the CPU twin and the CUDA program.
#pragma once

#include "realrun/common/program.hpp"
#include "sim/base/schema.hpp"

#include <filesystem>
#include <string>

namespace foretrain::realrun {

struct Model {
  std::string name;
  std::string kind;
  std::string precision = "fp32";
  int image = 32;
  int channels = 3;
  int classes = 10;
  int width = 64;
  int depth = 2;
  int stages = 3;
  int patch = 8;
  int heads = 4;
};

template <class V>
void describe(V& v, Model& m)
{
  v.format("foretrain.realrun-model/1");
  v.required("name", m.name, "name used in records");
  v.required("kind", m.kind, "what the layers are", one_of({"mlp", "convnet", "transformer"}));
  v.optional(
      "precision", m.precision,
      "arithmetic; the parameters' master copy is always fp32 (the CPU twin knows fp32 only)",
      one_of({"fp32", "tf32", "fp16", "bf16"}));
  v.required("image", m.image, "height and width of the input in pixels", between(4, 1024));
  v.optional("channels", m.channels, "colours of the input", between(1, 16));
  v.required("classes", m.classes, "number of classes", between(2, 100000));
  v.required("width", m.width,
             "mlp: hidden units; convnet: channels of the first stage; transformer: "
             "model width",
             between(1, 65536));
  v.required("depth", m.depth,
             "mlp: hidden layers; convnet: convolutions per stage; transformer: "
             "blocks",
             between(1, 512));
  v.optional("stages", m.stages, "convnet: stages, each halves the image and doubles the channels",
             between(1, 8));
  v.optional("patch", m.patch, "transformer: pixels per side of one token", between(1, 256));
  v.optional("heads", m.heads, "transformer: attention heads", between(1, 256));
}

/// Reads and checks a model file; `overrides` are "key=value" texts laid over it (--set).
/// Throws ConfigError.
Model load_model(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});

/// The operations of a model. Throws UsageError when the sizes do not fit each other.
Program build_program(const Model& model);

/// The model as JSON, as it is written into records.
Json to_json(const Model& model);

} // namespace foretrain::realrun
