#include "experiments/run/simulate/parameters.hpp"

#include "sim/workload/program_file.hpp"

#include <filesystem>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// How results name a file, wherever they are made: below the data root if it lies there, else in
// full.
std::string told_path(const std::filesystem::path& path)
{
  std::error_code error;
  const auto file = std::filesystem::weakly_canonical(path, error);
  const auto root = std::filesystem::weakly_canonical(data_root(), error);
  const auto inside = file.lexically_relative(root);
  return inside.empty() || *inside.begin() == ".." ? file.string() : inside.string();
}

// Where a preset's numbers come from: its "source", else the file itself.
std::string source_of(const Value& preset)
{
  const auto& path = preset.document()->path;
  std::string where = path.empty() ? preset.where() : told_path(path);
  if (preset.json().contains("source") && preset.json().at("source").is_string())
    where += ": " + preset.json().at("source").get<std::string>();
  return where;
}

class List {
public:
  List(std::vector<Parameter>& out, const ResolvedExperiment& experiment)
      : out_(out), experiment_(experiment)
  {
  }

  void from(std::string source)
  {
    source_ = std::move(source);
    preset_ = Value();
  }
  void from(const Value& reference, const PresetKind& kind)
  {
    preset_ = resolve_preset(reference, kind);
    source_ = source_of(preset_);
  }

  /// `name` ends in the key that holds the value in the preset.
  template <class T>
  void add(const std::string& name, const T& value)
  {
    if constexpr (std::is_arithmetic_v<T>)
      out_.push_back({name, fmt::format("{:g}", static_cast<double>(value)), source_for(name)});
    else if constexpr (std::is_convertible_v<T, std::string>)
      out_.push_back({name, value, source_for(name)});
    else
      out_.push_back({name, to_text(value), source_for(name)});
  }

  /// What profiles gave and no row has named yet.
  void add_overlaid()
  {
    for (const PresetUse& use : experiment_.presets) {
      const Document& document = *use.value.document();
      if (!use.value.overlay())
        continue;
      for (const OverlayEntry& entry : use.value.overlay()->entries)
        if (entry.kind == use.kind && named_.count(entry.origin) == 0 &&
            origin_of(document, entry.pointer) == entry.origin) {
          named_.insert(entry.origin);
          out_.push_back(
              {use.kind + " " + use.told() + entry.pointer,
               entry.value.is_string() ? entry.value.get<std::string>() : entry.value.dump(),
               text_of(entry)});
        }
    }
  }

private:
  static std::string text_of(const OverlayEntry& entry)
  {
    return entry.origin + (entry.source.empty() ? "" : ": " + entry.source);
  }

  std::string source_for(const std::string& name)
  {
    if (!preset_ || !preset_.overlay())
      return source_;
    const std::size_t slash = name.rfind('/');
    const std::string origin =
        slash == std::string::npos ? "" : origin_of(*preset_.document(), name.substr(slash));
    for (const OverlayEntry& entry : preset_.overlay()->entries)
      if (!origin.empty() && entry.origin == origin) {
        named_.insert(origin);
        return text_of(entry);
      }
    return source_;
  }

  std::vector<Parameter>& out_;
  const ResolvedExperiment& experiment_;
  std::string source_;
  Value preset_;
  std::set<std::string> named_; // origins of profiles that a row has told
};

void add_gpu(List& list, const ResolvedExperiment& e)
{
  const platforms::Gpu& gpu = e.platform.gpu;
  list.from(e.platform.node.gpus->type, platforms::kGpuKind);
  list.add("gpu", gpu.name);
  list.add("gpu/memory_bandwidth", gpu.memory_bandwidth);
  list.add("gpu/memory_efficiency", gpu.memory_efficiency);
  list.add("gpu/kernel_launch", gpu.kernel_launch);
  list.add("gpu/speed_variation", gpu.speed_variation);
  if (gpu.nvlink_bricks > 0 && gpu.nvlink_brick.value() > 0) {
    list.add("gpu/nvlink_brick", gpu.nvlink_brick);
    list.add("gpu/nvlink_collective_efficiency", gpu.nvlink_collective_efficiency);
  }
}

void add_network(List& list, const ResolvedExperiment& e)
{
  const platforms::Transport& t = e.stack.transport;
  for (std::size_t i = 0; i < e.platform.nics.size(); ++i) {
    list.from(e.platform.node.nics[i].type, platforms::kNicKind);
    list.add(e.platform.node.nics[i].name + "/rate", e.platform.nics[i].rate);
  }
  list.from(e.spec.stack.transport, platforms::kTransportKind);
  list.add("network", t.name);
  list.add("network/latency", t.all_latency());
  if (t.protocol == platforms::NetworkProtocol::tcp) {
    list.add("network/cpu_per_packet", t.cpu_per_packet);
    list.add("network/copies", t.all_copies());
    list.add("network/connections", t.parallel());
  }
}

// A guest that nobody measured is the one in the middle of those published.
void add_guest(List& list, const ResolvedExperiment& e)
{
  if (e.stack.host.quality.empty())
    return;
  list.from(e.spec.stack.host, platforms::kHostKind);
  list.add("host", e.stack.host.name);
  list.add("host/kernel_time", platforms::typical_guest(e.stack.host.quality));
}

void add_launches(List& list, const std::optional<models::HostLaunches>& launches,
                  const std::string& prefix)
{
  if (!launches)
    return;
  list.add(prefix + "launches/per_operation", launches->per_operation);
  list.add(prefix + "launches/per_kernel", launches->per_kernel);
}

void add_transformer(List& list, const ResolvedJob& job, const std::string& prefix)
{
  const models::StepSetting& s = job.transformer->step;
  list.from(job.spec.model, models::kNetworkKind);
  list.add(prefix + "parameters", models::parameters(s.memory.model).total());
  list.from(s.device.tables ? "kernel tables of the GPU preset" : "data sheet");
  list.add(prefix + "product_efficiency", s.device.half.efficiency);
  list.add(prefix + "attention_efficiency", s.device.attention.efficiency);
  list.add(prefix + "sustained_clock", s.device.clock);
  list.add(prefix + "memory_rate", s.device.memory);
  list.from(job.spec.framework, models::kFrameworkKind);
  add_launches(list, s.device.launches, prefix);
  list.add(prefix + "step_overhead", s.overhead);
  list.add(prefix + "step_variation", s.variation);
  list.from(job.framework.library, models::kLibraryKind);
  list.add(prefix + "library", job.library.name);
}

void add_job(List& list, const ResolvedJob& job)
{
  const std::string prefix = job.spec.name + "/";
  if (job.transformer) {
    add_transformer(list, job, prefix);
    return;
  }
  if (job.plan) {
    if (job.spec.program)
      list.from(job.spec.program, sim::kProgramKind);
    else
      list.from(job.spec.model, models::kNetworkKind);
    list.add(prefix + "step_variation", job.plan->step_variation);
    return;
  }
  list.from(job.spec.model, models::kNetworkKind);
  const auto sum = models::totals(job.network);
  list.add(prefix + "parameters", static_cast<double>(sum.parameters));
  list.add(prefix + "forward_GMAC", sum.macs / 1e9);
  if (job.network.work_variation > 0)
    list.add(prefix + "work_variation", job.network.work_variation);
  list.from(job.spec.framework, models::kFrameworkKind);
  list.add(prefix + "overlap", word_of(job.framework.overlap));
  list.add(prefix + "fusion_threshold", job.framework.fusion_threshold);
  list.add(prefix + "fusion_cycle", job.framework.fusion_cycle);
  list.add(prefix + "step_overhead", job.framework.step_overhead);
  add_launches(list, job.device.launches, prefix);
  list.add(prefix + "step_variation", job.framework.step_variation);
  if (const auto& servers = job.framework.servers; servers && !job.server_nodes.empty()) {
    list.add(prefix + "servers", static_cast<double>(job.server_nodes.size()));
    list.add(prefix + "servers/sum_rate", servers->sum_rate);
    list.add(prefix + "servers/message", servers->message);
    list.add(prefix + "servers/network_threads", servers->network_threads);
    list.add(prefix + "servers/verbs_rate", servers->verbs_rate);
    if (servers->shard != models::ServerShard::tensor)
      list.add(prefix + "servers/partition", servers->partition);
  }
  if (job.library.host) {
    list.from(job.framework.library, models::kLibraryKind);
    list.add(prefix + "host/concurrent", job.library.host->concurrent);
    list.add(prefix + "host/sum_rate", job.library.host->sum_rate);
    list.add(prefix + "host/half_sum_rate", job.library.host->half_sum_rate);
  }
  list.from(job.spec.anchor ? fmt::format("anchor of {:g} samples/s in the experiment file",
                                          job.spec.anchor->samples_per_s)
                            : "roofline of the GPU over the model's layers");
  list.add(prefix + "step_on_one_gpu", job.profile.total());
  list.add(prefix + "anchor_factor", job.anchor_factor);
}

void add_input(List& list, const ResolvedJob& job)
{
  if (job.input.synthetic)
    return;
  const std::string prefix = job.spec.name + "/input/";
  const ResolvedInput& input = job.input;
  list.from(input.dataset.origin, models::kDatasetKind);
  list.add(prefix + "dataset", input.dataset.name);
  list.add(prefix + "samples", input.dataset.samples);
  list.add(prefix + "stored_sample", input.stored.size);
  list.add(prefix + "cycles_per_sample", input.stored.cycles);
  list.add(prefix + "copied_sample", input.copied_sample);
  list.from(job.spec.framework, models::kFrameworkKind);
  if (input.settings.threads_per_gpu)
    list.add(prefix + "threads_per_gpu", *input.settings.threads_per_gpu);
  else if (input.settings.threads_per_node)
    list.add(prefix + "threads_per_node", *input.settings.threads_per_node);
  else
    list.add(prefix + "cores_kept_per_gpu", input.settings.cores_kept_per_gpu);
  list.add(prefix + "prefetch_batches", input.settings.prefetch_batches);
  list.add(prefix + "read_streams", input.settings.read_streams);
}

void add_storage(List& list, const ResolvedExperiment& e)
{
  if (!e.storage)
    return;
  const platforms::Storage& storage = *e.storage;
  list.from(storage.origin, platforms::kStorageKind);
  list.add("storage", storage.name);
  list.add("storage/request", storage.request);
  if (storage.local() && !storage.disk && !e.platform.disks.empty())
    list.from(e.platform.node.disks.front().type, platforms::kDiskKind);
  const platforms::Disk& disk = storage.local() && !storage.disk && !e.platform.disks.empty()
                                    ? e.platform.disks.front()
                                    : storage.disk_type;
  if (disk.read.value() > 0) {
    list.add("storage/disk", disk.name);
    list.add("storage/read", disk.read);
    list.add("storage/read_operations", fmt::format("{:g} IOPS", disk.read_operations.value()));
  } else if (storage.servers) {
    list.add("storage/rate", storage.servers->rate);
  }
}

} // namespace

std::vector<Parameter> effective_parameters(const ResolvedExperiment& e)
{
  std::vector<Parameter> parameters;
  List list(parameters, e);
  add_gpu(list, e);
  add_network(list, e);
  add_guest(list, e);
  for (const ResolvedJob& job : e.jobs) {
    add_job(list, job);
    add_input(list, job);
  }
  add_storage(list, e);
  list.add_overlaid();
  return parameters;
}

} // namespace foretrain::experiments
