#include "realrun/common/model.hpp"

#include "sim/base/error.hpp"

namespace foretrain::realrun {

namespace {

/// Appends operations; keeps the current buffer.
class Builder {
public:
  Builder(Program& program, const Model& model) : program_(program)
  {
    program_.name = model.name;
    program_.image = model.image;
    program_.channels = model.channels;
    program_.classes = model.classes;
    const auto pixels = static_cast<std::size_t>(model.image * model.image);
    program_.buffers.push_back({pixels, static_cast<std::size_t>(model.channels)});
  }

  std::size_t here() const { return here_; }

  void linear(const std::string& name, std::size_t width, double gain = 2.0)
  {
    const Buffer in = program_.buffers[here_];
    Op& op = append(OpKind::linear, name, {in.rows, width});
    op.weight = weights(name, in.width, width, gain);
    op.bias = vector(name + ".bias", width, 0.0F);
  }

  /// A linear layer over all values of the sample at once.
  void flat_linear(const std::string& name, std::size_t width)
  {
    const std::size_t in = program_.buffers[here_].size();
    Op& op = append(OpKind::linear, name, {1, width});
    op.weight = weights(name, in, width, 2.0);
    op.bias = vector(name + ".bias", width, 0.0F);
  }

  void convolution(const std::string& name, const Patches& patches, int channels, double gain = 2.0)
  {
    const auto width = static_cast<std::size_t>(channels);
    const auto pixels = static_cast<std::size_t>(patches.out_height() * patches.out_width());
    Op& op = append(OpKind::convolution, name, {pixels, width});
    op.patches = patches;
    op.weight = weights(name, patches.row(), width, gain);
    op.bias = vector(name + ".bias", width, 0.0F);
  }

  void same_shape(OpKind kind, const std::string& name)
  {
    append(kind, name, program_.buffers[here_]);
  }

  void layer_norm(const std::string& name)
  {
    const Buffer in = program_.buffers[here_];
    Op& op = append(OpKind::layer_norm, name, in);
    op.saved = 2 * in.rows; // mean and 1/deviation of each row
    op.weight = vector(name + ".scale", in.width, 1.0F);
    op.bias = vector(name + ".shift", in.width, 0.0F);
  }

  void attention(const std::string& name, int heads)
  {
    const Buffer in = program_.buffers[here_]; // queries, keys and values side by side
    Op& op = append(OpKind::attention, name, {in.rows, in.width / 3});
    op.heads = heads;
    op.saved = in.rows * in.rows * static_cast<std::size_t>(heads);
  }

  void add(const std::string& name, std::size_t other)
  {
    append(OpKind::add, name, program_.buffers[here_]).other = other;
  }

  void mean_pool(const std::string& name)
  {
    append(OpKind::mean_pool, name, {1, program_.buffers[here_].width});
  }

private:
  Op& append(OpKind kind, const std::string& name, Buffer output)
  {
    program_.buffers.push_back(output);
    Op op;
    op.kind = kind;
    op.name = name;
    op.input = here_;
    op.output = program_.buffers.size() - 1;
    here_ = op.output;
    program_.ops.push_back(op);
    return program_.ops.back();
  }

  int place(Parameter parameter)
  {
    if (!program_.parameters.empty())
      parameter.offset = program_.parameters.back().offset + program_.parameters.back().size();
    program_.parameters.push_back(std::move(parameter));
    return static_cast<int>(program_.parameters.size()) - 1;
  }

  int weights(const std::string& name, std::size_t rows, std::size_t columns, double gain)
  {
    return place({name + ".weight", rows, columns, 0, gain, rows, 0.0F});
  }

  int vector(const std::string& name, std::size_t columns, float start)
  {
    return place({name, 1, columns, 0, 0.0, 0, start});
  }

  Program& program_;
  std::size_t here_ = 0;
};

void build_mlp(Builder& build, const Model& model)
{
  for (int i = 0; i < model.depth; ++i) {
    const std::string name = "hidden" + std::to_string(i);
    if (i == 0)
      build.flat_linear(name, static_cast<std::size_t>(model.width));
    else
      build.linear(name, static_cast<std::size_t>(model.width));
    build.same_shape(OpKind::relu, name + ".relu");
  }
}

void build_convnet(Builder& build, const Model& model)
{
  int side = model.image;
  int channels = model.channels;
  int width = model.width;
  for (int stage = 0; stage < model.stages; ++stage, width *= 2) {
    for (int i = 0; i < model.depth; ++i) {
      const Patches patches{side, side, channels, 3, i == 0 ? 2 : 1, 1};
      const std::string name = "conv" + std::to_string(stage) + "." + std::to_string(i);
      build.convolution(name, patches, width);
      build.same_shape(OpKind::relu, name + ".relu");
      side = patches.out_height();
      channels = width;
    }
  }
  build.mean_pool("pool");
}

void build_transformer(Builder& build, const Model& model)
{
  if (model.image % model.patch != 0)
    throw UsageError("model '" + model.name + "': image " + std::to_string(model.image) +
                     " is not a multiple of patch " + std::to_string(model.patch));
  if (model.width % model.heads != 0)
    throw UsageError("model '" + model.name + "': width " + std::to_string(model.width) +
                     " is not a multiple of heads " + std::to_string(model.heads));
  const auto width = static_cast<std::size_t>(model.width);
  build.convolution("embed",
                    {model.image, model.image, model.channels, model.patch, model.patch, 0},
                    model.width, 1.0);
  for (int i = 0; i < model.depth; ++i) {
    const std::string block = "block" + std::to_string(i) + ".";
    std::size_t residual = build.here();
    build.layer_norm(block + "norm1");
    build.linear(block + "qkv", 3 * width, 1.0);
    build.attention(block + "attention", model.heads);
    build.linear(block + "project", width, 1.0);
    build.add(block + "add1", residual);
    residual = build.here();
    build.layer_norm(block + "norm2");
    build.linear(block + "expand", 4 * width);
    build.same_shape(OpKind::gelu, block + "gelu");
    build.linear(block + "contract", width, 1.0);
    build.add(block + "add2", residual);
  }
  build.layer_norm("norm");
  build.mean_pool("pool");
}

} // namespace

Model load_model(const std::filesystem::path& path, const std::vector<std::string>& overrides)
{
  const auto document = load_document(path);
  for (const auto& text : overrides) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw UsageError("--set needs key=value, got '" + text + "'");
    set_value(*document, "/" + pointer_token(text.substr(0, equals)), text.substr(equals + 1));
  }
  return read_as<Model>(Value(document));
}

Program build_program(const Model& model)
{
  Program program;
  Builder build(program, model);
  if (model.kind == "mlp")
    build_mlp(build, model);
  else if (model.kind == "convnet")
    build_convnet(build, model);
  else
    build_transformer(build, model);
  build.linear("classify", static_cast<std::size_t>(model.classes), 1.0);
  program.logits = build.here();
  complete(program);
  return program;
}

Json to_json(const Model& m)
{
  Json json = {{"format", "foretrain.realrun-model/1"},
               {"name", m.name},
               {"kind", m.kind},
               {"precision", m.precision},
               {"image", m.image},
               {"channels", m.channels},
               {"classes", m.classes},
               {"width", m.width},
               {"depth", m.depth}};
  if (m.kind == "convnet")
    json["stages"] = m.stages;
  if (m.kind == "transformer") {
    json["patch"] = m.patch;
    json["heads"] = m.heads;
  }
  return json;
}

} // namespace foretrain::realrun
