#include "experiments/learn/realrun_experiment.hpp"

#include "platforms/platform.hpp"
#include "sim/base/error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using calibration::TrainingRecord;

// Between the first steps of tenants, which nothing keeps in step.
constexpr double kApart_ms = 7;

struct RealrunModel {
  std::string name, kind, precision = "fp32";
  int image = 32, channels = 3, classes = 10, width = 64, depth = 2;
  int stages = 3, patch = 8, heads = 4;
};

template <class V>
void describe(V& v, RealrunModel& m)
{
  v.format("foretrain.realrun-model/1");
  v.required("name", m.name, "name used in records");
  v.required("kind", m.kind, "what the layers are", one_of({"mlp", "convnet", "transformer"}));
  v.optional("precision", m.precision, "arithmetic", one_of({"fp32", "tf32", "fp16", "bf16"}));
  v.required("image", m.image, "height and width of the input", between(4, 1024));
  v.optional("channels", m.channels, "colours of the input", between(1, 16));
  v.required("classes", m.classes, "number of classes", between(2, 100000));
  v.required("width", m.width, "hidden units, channels or model width", between(1, 65536));
  v.required("depth", m.depth, "hidden layers, convolutions per stage or blocks", between(1, 512));
  v.optional("stages", m.stages, "convnet: stages", between(1, 8));
  v.optional("patch", m.patch, "transformer: pixels per side of a token", between(1, 256));
  v.optional("heads", m.heads, "transformer: attention heads", between(1, 256));
}

Json mlp_layers(const RealrunModel& m)
{
  Json layers = Json::array();
  for (int i = 0; i < m.depth; ++i)
    layers.push_back({{"op", "linear"},
                      {"out", m.width},
                      {"name", fmt::format("hidden{}", i)},
                      {"then", {"relu"}}});
  return layers;
}

Json convnet_layers(const RealrunModel& m)
{
  Json layers = Json::array();
  for (int stage = 0; stage < m.stages; ++stage)
    for (int i = 0; i < m.depth; ++i)
      layers.push_back({{"op", "conv"},
                        {"out", m.width << stage},
                        {"kernel", 3},
                        {"stride", i == 0 ? 2 : 1},
                        {"padding", 1},
                        {"name", fmt::format("conv{}.{}", stage, i)},
                        {"then", {"relu"}}});
  layers.push_back("global_avg_pool");
  return layers;
}

// The patches of the image are the tokens; cutting them out is not counted.
Json transformer_layers(const RealrunModel& m)
{
  const auto linear = [](int out, const char* name) {
    return Json{{"op", "linear"}, {"out", out}, {"name", name}};
  };
  const Json attention = {{"op", "attention"}, {"heads", m.heads}};
  const Json block = {{{"op", "residual"}, {"main", Json::array({"layer_norm", attention})}},
                      {{"op", "residual"},
                       {"main", Json::array({"layer_norm", linear(4 * m.width, "expand"), "gelu",
                                             linear(m.width, "contract")})}}};
  return Json::array({linear(m.width, "embed"),
                      {{"op", "repeat"}, {"name", "block"}, {"times", m.depth}, {"body", block}},
                      "layer_norm",
                      "global_avg_pool"});
}

Json with_cores(const Value& cpu, int cores)
{
  Json json = cpu.json().is_string() ? Json{{"extends", cpu.json()}} : cpu.json();
  json["cores"] = cores;
  return json;
}

// Loopback: one node with as many cores as the ranks were allowed to use. Namespaces: two hosts
// that share the cores evenly, as each rank keeps to a core, joined by a wire.
Json cluster_of(const TrainingRecord& r, const std::string& base)
{
  const Value preset = resolve_preset(base, platforms::kPlatformKind);
  const platforms::PlatformSpec platform = platforms::load_platform(preset);
  if (!platform.gpu.on_host())
    throw UsageError("platform '" + base + "' trains on GPUs, the record '" + r.name +
                     "' on CPU cores\n  hint: name a platform whose GPU has \"host_cores\", like "
                     "vm-2core");
  const int ranks = r.ranks * r.tenants;
  Json node;
  const bool hosts = r.path != "loopback";
  int cores = r.cores_allowed == 1 ? std::min(r.ranks, r.cores) : r.cores_allowed;
  if (r.isolation == "pinned")
    cores = std::min(ranks, r.cores);
  if (r.isolation == "same-core")
    cores = 1;
  node["cpu"] = with_cores(preset.at("node").at("cpu"), hosts ? std::max(1, r.cores / 2) : cores);
  const int workers = hosts ? (ranks + 1) / 2 : ranks;
  node["gpus"]["on"] = std::vector<std::string>(static_cast<std::size_t>(workers), "socket0");
  Json cluster = {{"platform", {{"extends", base}}}, {"nodes", hosts ? 2 : 1}};
  Json& json = cluster["platform"];
  if (hosts) {
    Json wire = {{"extends", "veth"}};
    if (r.link_rate.value() > 0) {
      wire["rate"] = fmt::format("{} Mb/s", r.link_rate.value() * 8 / 1e6);
      // realrun/overlay/hosts.sh: 2 ms of the rate, at least 64 KiB.
      wire["burst"] = fmt::format("{} B", std::max(65536.0, r.link_rate.value() / 500));
    }
    node["nics"] = {{{"name", "wire"}, {"type", wire}, {"on", "socket0"}}};
    json["max_nodes"] = 2;
    json["networks"] = {{{"nics", {"wire"}}, {"fabric", "veth-pair"}}};
  }
  json["node"] = node;
  return cluster;
}

} // namespace

Json realrun_network(const Value& model)
{
  const auto m = read_as<RealrunModel>(model);
  Json network = {{"format", "foretrain.network/1"}, {"name", m.name}};
  if (m.kind == "transformer") {
    if (m.image % m.patch != 0)
      model.fail_at("patch", fmt::format("must divide the image's {} pixels", m.image));
    const int side = m.image / m.patch;
    network["input"] = {{"tokens", side * side}, {"hidden", m.patch * m.patch * m.channels}};
    network["layers"] = transformer_layers(m);
  } else if (m.kind == "mlp") {
    network["input"] = {{"features", m.image * m.image * m.channels}};
    network["layers"] = mlp_layers(m);
  } else {
    network["input"] = {{"channels", m.channels}, {"height", m.image}, {"width", m.image}};
    network["layers"] = convnet_layers(m);
  }
  network["head"] = {{{"op", "linear"}, {"out", m.classes}, {"name", "classify"}}};
  return network;
}

std::string realrun_transport(const std::string& path)
{
  return path == "host"    ? "veth"
         : path == "route" ? "veth-route"
         : path == "vxlan" ? "veth-vxlan"
                           : "loopback";
}

Json realrun_experiment(const TrainingRecord& r, const std::string& platform)
{
  if (r.program != "realrun-cpu")
    throw UsageError("record '" + r.name + "' was made by " + r.program +
                     "; only runs of realrun-cpu can be made into experiments");
  if (r.isolation.starts_with("disk") || r.isolation.starts_with("quota"))
    throw UsageError("record '" + r.name + "': the limit '" + r.isolation +
                     "' cannot be expressed in an experiment");
  if (r.input != "synthetic")
    throw UsageError("record '" + r.name + "': reading pictures ('" + r.input +
                     "') cannot be expressed in an experiment yet");
  auto document = std::make_shared<Document>();
  document->name = "model of " + r.name;
  document->root = r.model;
  Json framework = {{"extends", "realrun-cpu"},
                    {"fusion_threshold", fmt::format("{} B", r.bucket.value())},
                    {"overlap", r.overlap ? "buckets" : "none"}};
  Json jobs = Json::array();
  for (int tenant = 0; tenant < r.tenants; ++tenant)
    jobs.push_back({{"name", fmt::format("tenant{}", tenant)},
                    {"model", realrun_network(Value(document))},
                    {"framework", framework},
                    {"precision", r.precision},
                    {"batch_per_gpu", r.batch},
                    {"gpus", r.ranks},
                    {"start", fmt::format("{} ms", r.ranks > 1 ? kApart_ms * tenant : 0)},
                    {"placement", "spread"}});
  return {{"format", "foretrain.experiment/1"},
          {"name", r.name},
          {"cluster", cluster_of(r, platform)},
          {"stack", {{"network", realrun_transport(r.path)}}},
          {"jobs", jobs}};
}

} // namespace foretrain::experiments
