#include "experiments/parameters.hpp"

#include <filesystem>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Where a preset's numbers come from: its "source", else the file itself.
std::string source_of(const Value& reference, const PresetKind& kind)
{
  const Value value = resolve_preset(reference, kind);
  const auto& path = value.document()->path;
  std::string where = path.empty() ? value.where() : std::filesystem::relative(path).string();
  if (value.json().contains("source") && value.json().at("source").is_string())
    where += ": " + value.json().at("source").get<std::string>();
  return where;
}

class List {
public:
  explicit List(std::vector<Parameter>& out) : out_(out) {}
  void from(std::string source) { source_ = std::move(source); }
  template <class T>
  void add(const std::string& name, const T& value)
  {
    if constexpr (std::is_arithmetic_v<T>)
      out_.push_back({name, fmt::format("{:g}", static_cast<double>(value)), source_});
    else if constexpr (std::is_convertible_v<T, std::string>)
      out_.push_back({name, value, source_});
    else
      out_.push_back({name, to_text(value), source_});
  }

private:
  std::vector<Parameter>& out_;
  std::string source_;
};

void add_gpu(List& list, const ResolvedExperiment& e)
{
  const platforms::Gpu& gpu = e.platform.gpu;
  list.from(source_of(e.platform.node.gpus->type, platforms::kGpuKind));
  list.add("gpu", gpu.name);
  list.add("gpu/memory_bandwidth", gpu.memory_bandwidth);
  list.add("gpu/memory_efficiency", gpu.memory_efficiency);
  list.add("gpu/kernel_launch", gpu.kernel_launch);
  if (gpu.nvlink_bricks > 0 && gpu.nvlink_brick.value() > 0) {
    list.add("gpu/nvlink_brick", gpu.nvlink_brick);
    list.add("gpu/nvlink_collective_efficiency", gpu.nvlink_collective_efficiency);
  }
}

void add_network(List& list, const ResolvedExperiment& e)
{
  const platforms::Transport& t = e.stack.transport;
  for (std::size_t i = 0; i < e.platform.nics.size(); ++i) {
    list.from(source_of(e.platform.node.nics[i].type, platforms::kNicKind));
    list.add(e.platform.node.nics[i].name + "/rate", e.platform.nics[i].rate);
  }
  const Value given = e.spec.stack.transport;
  list.from(given ? source_of(given, platforms::kTransportKind)
                  : "default of the platform's adapters");
  list.add("network", t.name);
  list.add("network/latency", t.latency);
  if (t.protocol == "tcp") {
    list.add("network/cpu_per_packet", t.cpu_per_packet);
    list.add("network/copies", t.copies);
    list.add("network/connections", t.connections);
  }
}

void add_job(List& list, const ResolvedJob& job)
{
  const std::string prefix = job.spec.name + "/";
  list.from(source_of(job.spec.model, models::kNetworkKind));
  const auto sum = models::totals(job.network);
  list.add(prefix + "parameters", static_cast<double>(sum.parameters));
  list.add(prefix + "forward_GMAC", sum.macs / 1e9);
  list.from(source_of(job.spec.framework, models::kFrameworkKind));
  list.add(prefix + "overlap", job.framework.overlap);
  list.add(prefix + "fusion_threshold", job.framework.fusion_threshold);
  list.add(prefix + "fusion_cycle", job.framework.fusion_cycle);
  list.add(prefix + "step_overhead", job.framework.step_overhead);
  list.add(prefix + "step_variation", job.framework.step_variation);
  list.from(job.spec.anchor ? fmt::format("anchor of {:g} samples/s in the experiment file",
                                          job.spec.anchor->samples_per_s)
                            : "roofline of the GPU over the model's layers");
  list.add(prefix + "step_on_one_gpu", job.profile.total());
  list.add(prefix + "anchor_factor", job.anchor_factor);
}

} // namespace

std::vector<Parameter> effective_parameters(const ResolvedExperiment& e)
{
  std::vector<Parameter> parameters;
  List list(parameters);
  add_gpu(list, e);
  add_network(list, e);
  for (const ResolvedJob& job : e.jobs)
    add_job(list, job);
  return parameters;
}

} // namespace foretrain::experiments
