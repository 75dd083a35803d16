#include "experiments/spec/remarks.hpp"

#include "experiments/spec/gpu_library.hpp"
#include "experiments/spec/kernel_curves.hpp"
#include "experiments/spec/resolve_checks.hpp"
#include "platforms/link_words.hpp"
#include "platforms/storage_system.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// What runs over an adapter of a node that has far faster ones.
void remark_slow_adapter(ResolvedJob& job, const platforms::PlatformSpec& platform, int used,
                         const std::string& what)
{
  const auto nic = [&](int i) -> const platforms::Nic& {
    return platform.nics[static_cast<std::size_t>(i)];
  };
  int fastest = used;
  for (int i = 0; i < static_cast<int>(platform.nics.size()); ++i)
    if (nic(i).rate > nic(fastest).rate)
      fastest = i;
  const auto name = [&](int i) { return platform.node.nics[static_cast<std::size_t>(i)].name; };
  if (nic(used).rate < 0.5 * nic(fastest).rate)
    job.warnings.push_back(fmt::format("{}: {} over {} ({}); the nodes also have {} ({})",
                                       job.spec.name, what, name(used), to_text(nic(used).rate),
                                       name(fastest), to_text(nic(fastest).rate)));
}

void remark_slow_network(ResolvedJob& job, const platforms::PlatformSpec& platform)
{
  const auto network = platforms::find_network(platform, job.stack.transport);
  if (!spans_nodes(job) || network.index < 0)
    return;
  const auto slower = [&](int a, int b) {
    return platform.nics[static_cast<std::size_t>(a)].rate <
           platform.nics[static_cast<std::size_t>(b)].rate;
  };
  remark_slow_adapter(job, platform,
                      *std::max_element(network.nics.begin(), network.nics.end(), slower),
                      fmt::format("'{}' runs", job.stack.transport.name));
}

void remark_slow_storage(ResolvedJob& job, const ResolvedExperiment& e)
{
  if (job.input.synthetic || !e.storage || !e.storage->servers)
    return;
  const platforms::StorageWay way = platforms::way_to_servers(*e.storage, e.platform);
  if (way.network.index >= 0)
    remark_slow_adapter(
        job, e.platform, way.network.nics.front(),
        fmt::format("reads '{}' by '{}'{}", e.storage->name, way.transport.name,
                    e.storage->transports.empty() ? " (no \"transports\" told)" : ""));
}

// A job's traffic takes one network: adapters of several fabrics are no rails of one.
void remark_other_network(ResolvedJob& job, const platforms::PlatformSpec& platform)
{
  const auto network = platforms::find_network(platform, job.stack.transport);
  if (!spans_nodes(job) || network.index < 0)
    return;
  const platforms::Nic& used = platform.nics[static_cast<std::size_t>(network.nics.front())];
  const auto other = platforms::find_network(platform, job.stack.transport,
                                             static_cast<std::size_t>(network.index) + 1);
  if (other.index < 0)
    return;
  const auto index = static_cast<std::size_t>(other.nics.front());
  if (platform.nics[index].rate >= 0.5 * used.rate)
    job.warnings.push_back(
        fmt::format("{}: '{}' takes the first of the nodes' \"networks\" that it can; {} is of "
                    "another one, and "
                    "idle (adapters that a job uses together are \"nics\" of one)",
                    job.spec.name, job.stack.transport.name, platform.node.nics[index].name));
}

const char* spoken(platforms::LinkLayer link)
{
  return link == platforms::LinkLayer::infiniband ? "InfiniBand" : "Ethernet";
}

// Who plugs an Ethernet adapter into an InfiniBand switch.
void remark_other_link(ResolvedJob& job, const platforms::PlatformSpec& platform)
{
  const auto network = platforms::find_network(platform, job.stack.transport);
  if (!spans_nodes(job) || network.index < 0)
    return;
  const platforms::Fabric& fabric = platform.fabrics[static_cast<std::size_t>(network.index)];
  for (const int i : network.nics) {
    const auto index = static_cast<std::size_t>(i);
    const platforms::Nic& nic = platform.nics[index];
    if (!fabric.link || *fabric.link == nic.link)
      continue;
    job.warnings.push_back(fmt::format(
        "{}: {} ({}) speaks {}, and the fabric '{}' {}: one cannot be plugged into the other "
        "(\"link\" of both)",
        job.spec.name, platform.node.nics[index].name, nic.name, spoken(nic.link), fabric.name,
        spoken(*fabric.link)));
    return;
  }
}

// A guest's virtual adapter on a machine that has no guests.
void remark_guest_network(ResolvedJob& job)
{
  const platforms::Host& host = job.stack.host;
  if (spans_nodes(job) && job.stack.transport.of_guests &&
      host.isolation != platforms::Isolation::vm)
    job.warnings.push_back(fmt::format(
        "{}: '{}' passes the virtual adapter of a guest, and '{}' is no virtual machine (\"host\")",
        job.spec.name, job.stack.transport.name, host.name));
}

// Who asks what newer slots would bring to GPUs, or a CPU, that do not know them.
void remark_slots(ResolvedJob& job, const platforms::PlatformSpec& platform)
{
  const auto& slots = platform.node.gpus;
  if (!slots)
    return;
  const auto remark = [&](const char* key, std::optional<int> told, int own) {
    if (told && *told > own)
      job.warnings.push_back(
          fmt::format("{}: \"{}\": {} of the node's GPUs has no influence: {} behind {} uses {}",
                      job.spec.name, key, *told, platform.gpu.name, platform.cpu.name, own));
  };
  remark("generation", slots->generation, platform.gpu.pcie_generation);
  remark("lanes", slots->lanes, platform.gpu.pcie_lanes);
}

void remark_limits(ResolvedJob& job, const platforms::PlatformSpec& platform)
{
  const double cores = static_cast<double>(platform.cpu.cores) * platform.node.sockets;
  if (job.spec.cores && *job.spec.cores > cores)
    job.warnings.push_back(fmt::format("{}: is given {:g} cores of each node, which has {:g}",
                                       job.spec.name, *job.spec.cores, cores));
  const Bytes memory = platform.node.memory;
  if (job.spec.memory && *job.spec.memory > memory)
    job.warnings.push_back(fmt::format("{}: is given {} of main memory of each node, which has {}",
                                       job.spec.name, to_text(*job.spec.memory), to_text(memory)));
  std::map<int, int> processes;
  for (const auto& place : job.ranks)
    ++processes[place.node];
  int most = 0;
  for (const auto& [node, count] : processes)
    most = std::max(most, count);
  const Bytes needed = most * job.framework.input.process_memory;
  if (job.spec.memory && needed > *job.spec.memory)
    job.warnings.push_back(
        fmt::format("{}: its {} processes on a node need about {} of main memory, and may use {}",
                    job.spec.name, most, to_text(needed), to_text(*job.spec.memory)));
}

void remark_input(ResolvedJob& job)
{
  if (!job.input.synthetic && job.input.storing == models::Storing::jpeg &&
      job.network.input.form == models::Shape::Form::ids)
    job.warnings.push_back(fmt::format("{}: reads JPEG files, but '{}' takes numbers of tokens",
                                       job.spec.name, job.network.name));
}

void remark_links(ResolvedJob& job, const platforms::PlatformSpec& platform)
{
  const auto& links = platform.node.nvlink;
  const bool any = links.nvswitch || links.all_pairs > 0 || !links.pairs.empty();
  std::map<int, int> on_node;
  int most = 0;
  for (const auto& place : job.ranks)
    most = std::max(most, ++on_node[place.node]);
  if (any && most > 1 && !job.stack.host.nvlink)
    job.warnings.push_back(fmt::format("{}: '{}' hides {} from the job (\"nvlink\" of the host)",
                                       job.spec.name, job.stack.host.name,
                                       platforms::link_words("NVLink", platform.gpu.vendor)));
}

// Year in which the first GPU of an architecture came (NVIDIA's and AMD's white papers).
int year_of(const platforms::Gpu& gpu)
{
  using Year = std::pair<double, int>;
  static constexpr Year kNvidia[] = {{10.3, 2025}, {10.0, 2024}, {9.0, 2022},
                                     {8.0, 2020},  {7.5, 2018},  {7.0, 2017}};
  static constexpr Year kAmd[] = {{9.5, 2025}, {9.4, 2023}};
  const std::span<const Year> years =
      gpu.vendor == sim::GpuVendor::amd ? std::span<const Year>(kAmd) : kNvidia;
  for (const auto& [capability, year] : years)
    if (gpu.compute_capability >= capability)
      return year;
  return 0;
}

void remark_age(ResolvedJob& job, const platforms::PlatformSpec& platform)
{
  if (!job.transformer || job.framework.last_year == 0)
    return;
  constexpr int kFlashAttention = 2022; // arXiv:2205.14135; programs had it in the year after
  const bool assumed = job.framework.last_year <= kFlashAttention && !job.spec.attention &&
                       job.transformer->step.memory.flash;
  job.warnings.push_back(fmt::format(
      "{}: '{}' stands for code of {} and before{}{}{}", job.spec.name, job.framework.name,
      job.framework.last_year,
      predates(job.framework, platform.gpu)
          ? fmt::format(", and the {} came later", platform.gpu.name)
          : "",
      job.framework.newer.empty() ? "" : "; for later code: \"" + job.framework.newer + "\"",
      assumed
          ? ". Attention is taken to be one kernel, as came later: before, scores passed through "
            "memory (\"attention\": \"plain\")"
          : ""));
}

// Host times, fusion and attention of frameworks are known of CUDA's code alone.
void remark_vendor(ResolvedJob& job, const platforms::Gpu& gpu)
{
  if (gpu.vendor == sim::GpuVendor::nvidia)
    return;
  job.warnings.push_back(fmt::format("{}: '{}' stands for its CUDA code: on the {} its work on the "
                                     "host and its fusion are taken to "
                                     "be the same, and its collectives are those of {}",
                                     job.spec.name, job.framework.name, gpu.name,
                                     job.library.name));
}

// The bundled ones by name, read once.
const std::map<std::string, models::Framework>& bundled_frameworks()
{
  static const auto all = [] {
    std::map<std::string, models::Framework> read;
    for (const std::string& name : preset_names(models::kFrameworkKind))
      read[name] = models::load_framework(resolve_preset(name, models::kFrameworkKind));
    return read;
  }();
  return all;
}

// Frameworks whose program is written for the network, by their presets' names; "" for none.
std::string programs_for(const std::string& model)
{
  std::vector<std::string> names;
  for (const auto& [name, framework] : bundled_frameworks())
    if (!framework.networks.empty() && models::written_for(framework, model))
      names.push_back(name);
  return names.empty() ? "" : fmt::format(" ({} is written for it)", joined(names));
}

void remark_program(ResolvedJob& job)
{
  const std::string& model = job.transformer ? job.transformer->model.name : job.network.name;
  if (model.empty()) // a program has none
    return;
  const auto bundled = [&] {
    const auto names = preset_names(models::kNetworkKind);
    return std::ranges::find(names, model) != names.end();
  };
  const bool transformers = job.framework.transformer && !job.transformer;
  if (transformers || (!models::written_for(job.framework, model) && bundled()))
    job.warnings.push_back(fmt::format(
        "{}: '{}' is a program for {}; of {} it says what it would take if it ran it alike{}",
        job.spec.name, job.framework.name,
        transformers ? "transformers" : joined(job.framework.networks), model,
        programs_for(model)));
}

// Libraries of kernels that bundled files know.
const std::set<std::string>& known_kernel_libraries()
{
  static const auto all = [] {
    std::set<std::string> known;
    for (const std::string& name : preset_names(platforms::kGpuKind)) {
      const auto gpu = read_as<platforms::Gpu>(resolve_preset(name, platforms::kGpuKind));
      for (const platforms::Generation& it : gpu.generations)
        known.insert(it.library);
    }
    for (const auto& [name, framework] : bundled_frameworks())
      known.insert(framework.kernel_library);
    known.erase("");
    return known;
  }();
  return all;
}

// What is not known is taken for the latest.
void remark_kernel_library(ResolvedJob& job, const platforms::Gpu& gpu)
{
  const std::string& library = job.framework.kernel_library;
  const auto named = [&](const platforms::Generation& it) { return it.library == library; };
  if (library.empty() || std::ranges::any_of(gpu.generations, named) ||
      known_kernel_libraries().contains(library))
    return;
  const auto& known = known_kernel_libraries();
  job.warnings.push_back(fmt::format("{}: nothing is known of the \"kernel_library\" '{}': it is "
                                     "taken for the latest. Known are {}",
                                     job.spec.name, excerpt(library),
                                     joined(std::vector(known.begin(), known.end()))));
}

// Flash attention keeps nothing of what selective recomputation of attention's core would repeat.
void remark_selective(ResolvedJob& job)
{
  if (!job.transformer || job.spec.recompute != models::Recompute::selective)
    return;
  const models::MemorySetting& memory = job.transformer->step.memory;
  const bool repeats = memory.selective == models::SelectiveRecompute::core;
  if (memory.flash && memory.modules.empty() &&
      (repeats || memory.selective == models::SelectiveRecompute::attention))
    job.warnings.push_back(fmt::format(
        "{}: selective recomputation repeats attention's core, of which flash attention "
        "keeps nothing: it saves no memory{}; \"recompute_modules\" says what else may be repeated",
        job.spec.name, repeats ? "" : ", and this framework leaves it as it is"));
}

// Jobs on one GPU need their memory at the same time.
void remark_shared_gpus(ResolvedExperiment& e)
{
  std::map<platforms::GpuPlace, std::vector<std::size_t>> jobs_on;
  for (std::size_t j = 0; j < e.jobs.size(); ++j)
    for (const auto& place : e.jobs[j].ranks)
      jobs_on[place].push_back(j);
  std::set<std::vector<std::size_t>> told;
  for (const auto& [place, jobs] : jobs_on) {
    if (jobs.size() < 2 || !told.insert(jobs).second)
      continue;
    Bytes needed{};
    std::vector<std::string> names;
    for (const std::size_t j : jobs) {
      const ResolvedJob& job = e.jobs[j];
      needed += device_memory(job);
      names.push_back(job.spec.name);
    }
    if (needed > e.platform.gpu.memory)
      e.jobs[jobs.front()].warnings.push_back(fmt::format(
          "{}: on one GPU they need about {} of device memory together, a {} has {}", joined(names),
          to_text(needed), e.platform.gpu.name, to_text(e.platform.gpu.memory)));
  }
}

// What the jobs of a node are given of it adds up to more than there is.
void remark_shared_nodes(ResolvedExperiment& e)
{
  std::map<int, std::set<std::size_t>> jobs_on;
  for (std::size_t j = 0; j < e.jobs.size(); ++j)
    for (const auto& place : e.jobs[j].ranks)
      jobs_on[place.node].insert(j);
  const double all_cores = static_cast<double>(e.platform.cpu.cores) * e.platform.node.sockets;
  std::set<std::set<std::size_t>> told;
  for (const auto& [node, jobs] : jobs_on) {
    if (jobs.size() < 2 || !told.insert(jobs).second)
      continue;
    double cores = 0;
    Bytes memory;
    std::vector<std::string> names;
    for (const std::size_t j : jobs) {
      const JobSpec& spec = e.jobs[j].spec;
      cores += spec.cores.value_or(0);
      memory += spec.memory.value_or(Bytes(0));
      names.push_back(spec.name);
    }
    auto& warnings = e.jobs[*jobs.begin()].warnings;
    if (cores > all_cores)
      warnings.push_back(fmt::format("{}: on one node they are given {:g} cores together, it has "
                                     "{:g}, which they share",
                                     joined(names), cores, all_cores));
    if (memory > e.platform.node.memory)
      warnings.push_back(fmt::format("{}: on one node they are given {} of main memory together, "
                                     "it has {}: what each caches is less",
                                     joined(names), to_text(memory),
                                     to_text(e.platform.node.memory)));
  }
}

// A version of the library that has no description of its own.
void remark_library(ResolvedJob& job)
{
  const Value& named = job.spec.library;
  const std::string remark =
      named && named.json().is_string() ? remark_on_version(named.json().get<std::string>()) : "";
  if (!remark.empty())
    job.warnings.push_back(fmt::format("{}: {}", job.spec.name, remark));
}

// Who asks for GPUs far apart and not for more nodes gets as few as hold them.
void remark_placement(ResolvedExperiment& e)
{
  const int per_node = e.platform.gpus_per_node();
  int used = 0;
  for (const ResolvedJob& job : e.jobs)
    used += job.spec.gpus;
  if (e.spec.cluster.nodes || e.nodes * per_node - used >= per_node)
    return;
  for (ResolvedJob& job : e.jobs)
    if (const Value& placement = job.spec.placement;
        placement && (placement.json() == "spread" || placement.json() == "round-robin") &&
        job.spec.gpus > 1)
      job.warnings.push_back(fmt::format(
          "{}: \"placement\": {} has nowhere to go: the cluster's \"nodes\" are not given, and it "
          "has as few as hold the jobs ({})",
          job.spec.name, placement.json().dump(), e.nodes));
}

} // namespace

bool predates(const models::Framework& framework, const platforms::Gpu& gpu)
{
  return framework.last_year > 0 && framework.last_year < year_of(gpu);
}

void remark_untold(ResolvedJob& job, const Value& at, const platforms::Gpu& gpu)
{
  const Json& told = at.json();
  const auto tells = [](const Json& object, const char* outer, const char* inner) {
    return object.value(outer, Json::object()).contains(inner);
  };
  std::vector<std::string> assumed;
  if (!told.contains("precision") && !job.network.measured) {
    if (job.transformer)
      assumed.push_back("\"precision\" (fp32; programs for large models compute in bf16)");
    else if (gpu.vendor == sim::GpuVendor::nvidia &&
             precision_rate(gpu, sim::Precision::tf32) != nullptr)
      assumed.push_back("\"precision\" (fp32; frameworks run convolutions in tf32 here)");
  }
  if (job.transformer && job.spec.mode != JobMode::inference) {
    const models::MemorySetting& memory = job.transformer->step.memory;
    const auto& schedules = job.framework.plans.schedules;
    if (memory.plan.pipeline > 1 && !tells(told, "parallel", "virtual_stages") &&
        !tells(told, "parallel", "schedule") &&
        std::ranges::find(schedules, "interleaved") != schedules.end())
      assumed.push_back("\"virtual_stages\" of \"parallel\" (1)");
    if (told.contains("lora") && !tells(told, "lora", "targets"))
      assumed.push_back("\"targets\" of \"lora\" (all four)");
    if (memory.model.experts > 0 && job.framework.last_year == 0) {
      const Json framework = resolve_preset(job.spec.framework, models::kFrameworkKind).json();
      if (memory.plan.expert > 1 && !tells(framework, "transformer", "dispatcher"))
        assumed.push_back("\"dispatcher\" of the framework's \"transformer\" (all-to-all)");
      if (!tells(framework, "transformer", "cuda_graphs"))
        assumed.push_back("\"cuda_graphs\" of the framework's \"transformer\" (none)");
    }
  }
  if (!assumed.empty())
    job.warnings.push_back(fmt::format("{}: not told, assumed, and outside the interval: {}",
                                       job.spec.name, joined(assumed)));
}

void add_remarks(ResolvedExperiment& e)
{
  for (ResolvedJob& job : e.jobs) {
    remark_slow_network(job, e.platform);
    remark_other_network(job, e.platform);
    remark_other_link(job, e.platform);
    remark_guest_network(job);
    remark_slots(job, e.platform);
    remark_slow_storage(job, e);
    if (spans_nodes(job))
      job.warnings.insert(job.warnings.end(), e.platform.remarks.begin(), e.platform.remarks.end());
    remark_limits(job, e.platform);
    remark_input(job);
    remark_links(job, e.platform);
    remark_age(job, e.platform);
    remark_vendor(job, e.platform.gpu);
    remark_program(job);
    remark_library(job);
    remark_kernel_library(job, e.platform.gpu);
    remark_selective(job);
    for (const std::string& assumed : assumptions_of(job.stack, spans_nodes(job)))
      job.warnings.push_back(job.spec.name + ": " + assumed);
  }
  remark_shared_gpus(e);
  remark_shared_nodes(e);
  remark_placement(e);
}

} // namespace foretrain::experiments
