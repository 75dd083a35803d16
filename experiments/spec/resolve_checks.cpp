#include "experiments/spec/resolve_checks.hpp"

#include "experiments/spec/kernel_curves.hpp"
#include "platforms/link_words.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Bundled networks that the platform's adapters can carry.
std::string networks_for(const platforms::PlatformSpec& platform, const Value& root)
{
  std::vector<std::string> names;
  for (const auto& name : preset_names(platforms::kTransportKind)) {
    const auto transport = platforms::load_transport(preset_reference(name, root));
    if (platforms::find_network(platform, transport).index >= 0)
      names.push_back(name);
  }
  return names.empty() ? "it has no adapter in any network" : "it can use: " + joined(names);
}

void check_network(const ResolvedExperiment& e, const platforms::Transport& transport,
                   const Value& asked, const Value& root)
{
  if (platforms::find_network(e.platform, transport).index >= 0)
    return;
  const std::string hint = networks_for(e.platform, root);
  const std::string problem =
      fmt::format("is '{}', which no adapter of '{}' can carry", transport.name, e.platform.name);
  if (asked)
    asked.fail(problem, hint);
  root.at("cluster").fail_at(
      "nodes", fmt::format("is {}, but '{}' has no network for them", e.nodes, e.platform.name),
      hint);
}

// Whether processes of one node reach each other over the transport alone, and it can join them
// nowhere: neither an adapter carries it nor an Ethernet bridge between pods.
bool joins_no_pods(const ResolvedJob& job)
{
  const platforms::Transport& transport = job.stack.transport;
  return job.stack.host.container_per_gpu && job.spec.gpus > 1 &&
         (transport.protocol == platforms::NetworkProtocol::rdma || !transport.ethernet);
}

// What stands under /stack/network of an experiment or a job, if anything.
Value network_asked_for(const Value& holder)
{
  const bool there =
      holder.json().contains("stack") && holder.json().at("stack").contains("network");
  return there ? holder.at("stack").at("network") : Value();
}

bool spans_nodes(const ResolvedJob& job)
{
  std::set<int> nodes(job.server_nodes.begin(), job.server_nodes.end());
  for (const auto& place : job.ranks)
    nodes.insert(place.node);
  return nodes.size() > 1;
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
  const int used = *std::max_element(network.nics.begin(), network.nics.end(), slower);
  const auto& own = platform.nics[static_cast<std::size_t>(used)];
  const auto fastest =
      std::max_element(platform.nics.begin(), platform.nics.end(),
                       [](const auto& a, const auto& b) { return a.rate < b.rate; });
  if (own.rate < 0.5 * fastest->rate)
    job.warnings.push_back(fmt::format(
        "{}: '{}' runs over {} ({}); the nodes also have {} ({})", job.spec.name,
        job.stack.transport.name, platform.node.nics[static_cast<std::size_t>(used)].name,
        to_text(own.rate),
        platform.node.nics[static_cast<std::size_t>(fastest - platform.nics.begin())].name,
        to_text(fastest->rate)));
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
  const auto bundled = preset_names(models::kNetworkKind);
  const std::string& model = job.transformer ? job.transformer->model.name : job.network.name;
  const bool named = std::ranges::find(bundled, model) != bundled.end();
  const bool transformers = job.framework.transformer && !job.transformer;
  if (transformers || (named && !models::written_for(job.framework, model)))
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

bool divides_tables(const models::Network& network)
{
  return std::ranges::any_of(
      network.layers, [](const models::Layer& layer) { return layer.exchanged_elements > 0; });
}

} // namespace

bool predates(const models::Framework& framework, const platforms::Gpu& gpu)
{
  return framework.last_year > 0 && framework.last_year < year_of(gpu);
}

void check_networks(const ResolvedExperiment& e, const Value& root)
{
  const Value everybody = network_asked_for(root);
  if (e.nodes > 1)
    check_network(e, e.stack.transport, everybody, root);
  for (std::size_t j = 0; j < e.jobs.size(); ++j) {
    if (e.nodes < 2 && !joins_no_pods(e.jobs[j]))
      continue;
    const Value own = network_asked_for(root.at("jobs").at(j));
    check_network(e, e.jobs[j].stack.transport, own ? own : everybody, root);
  }
}

std::vector<std::string> assumptions_of(const platforms::Stack& stack, bool between_nodes)
{
  std::vector<std::string> assumed;
  if (!stack.host.assumption.empty())
    assumed.push_back(stack.host.assumption);
  if (between_nodes)
    assumed.insert(assumed.end(), stack.assumed.begin(), stack.assumed.end());
  return assumed;
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

void check_accumulation(const ResolvedJob& job, const Value& at)
{
  if (job.spec.gradient_accumulation == 1)
    return;
  const char* const why = job.spec.program ? "and the job's program is a whole step"
                          : job.spec.mode == JobMode::inference ? "and inference has no gradients"
                          : job.network.measured ? "and the model is a recording of whole steps"
                          : divides_tables(job.network)
                              ? "and the rows of divided tables are exchanged with each batch"
                              : nullptr;
  if (why != nullptr)
    at.fail_at("gradient_accumulation",
               fmt::format("is {}, {}", job.spec.gradient_accumulation, why), "leave it out");
}

void check_tables(const ResolvedExperiment& e, const Value& root)
{
  for (std::size_t j = 0; j < e.jobs.size(); ++j) {
    const ResolvedJob& job = e.jobs[j];
    if (divides_tables(job.network) && job.ranks.size() > 1 &&
        job.spec.mode != JobMode::inference && (job.parameter_servers || job.library.host))
      root.at("jobs").at(j).fail_at(
          "framework",
          fmt::format("adds gradients by {}, which hands no rows of tables from GPU to GPU: {} "
                      "divides its tables among them",
                      job.parameter_servers ? "parameter servers" : job.library.name,
                      job.network.name),
          "take one whose library is NCCL, such as hugectr or pytorch-ddp");
  }
}

void add_remarks(ResolvedExperiment& e)
{
  for (ResolvedJob& job : e.jobs) {
    remark_slow_network(job, e.platform);
    if (spans_nodes(job))
      job.warnings.insert(job.warnings.end(), e.platform.remarks.begin(), e.platform.remarks.end());
    remark_limits(job, e.platform);
    remark_input(job);
    remark_links(job, e.platform);
    remark_age(job, e.platform);
    remark_vendor(job, e.platform.gpu);
    remark_program(job);
    remark_kernel_library(job, e.platform.gpu);
    remark_selective(job);
    for (const std::string& assumed : assumptions_of(job.stack, spans_nodes(job)))
      job.warnings.push_back(job.spec.name + ": " + assumed);
  }
  remark_shared_gpus(e);
}

} // namespace foretrain::experiments
