// What a point is when every preset that it names has been loaded.
#pragma once

#include "experiments/spec/known_exchanges.hpp"
#include "experiments/spec/resolve_input.hpp"
#include "experiments/spec/transformer_setting.hpp"
#include "models/collectives/collective.hpp"
#include "models/training/compute_profile.hpp"
#include "models/training/optimizer.hpp"
#include "models/training/work_plan.hpp"
#include "platforms/machine.hpp"
#include "platforms/storage.hpp"

namespace foretrain::experiments {

struct ResolvedJob {
  JobSpec spec;
  std::size_t number = 0; // in the experiment that it was resolved in
  int chance = 0; // number of its random streams: jobs that say the same differ by chance alone
  platforms::Stack stack;
  models::Network network;
  models::Framework framework;
  models::Library library;
  models::Device device;
  models::Optimizer optimizer;
  models::ComputeProfile profile;         // anchored, if the job has an anchor
  double anchor_factor = 1;               // by which the anchor stretched the profile
  models::Lengthening anchor_lengthening; // how
  ResolvedInput input;
  std::vector<platforms::GpuPlace> ranks;
  bool parameter_servers = false;               // instead of an all-reduce
  std::vector<int> server_nodes;                // of each parameter server; none with all-reduce
  std::shared_ptr<const models::WorkPlan> plan; // of a job that is given as a program
  std::shared_ptr<const TransformerSetting> transformer; // of a transformer's job, whose program is
                                                         // written when it runs
  std::vector<std::string> warnings;
  int measured_steps = 20;
};

/// Device memory that one GPU of the job needs.
Bytes device_memory(const ResolvedJob& job);
/// "about 108.5 GB of device memory are needed, a V100-SXM2-16GB has 16 GB".
std::string memory_text(Bytes needed, const platforms::Gpu& gpu);
/// Bytes of a checkpoint of the job, by all its GPUs together: what is trained, once, with the
/// optimizer's state; of networks in single precision. None where the job is given as a program.
std::optional<Bytes> checkpoint_bytes(const ResolvedJob& job);
/// Bytes of a gradient as it travels.
int gradient_bytes(const ResolvedJob& job);

/// What it takes a GPU to add the gradients of a batch to the sums of those before: these are read
/// and written, and the gradients read.
Seconds adding_up(const ResolvedJob& job);
/// Rate at which a GPU copies into the fusion buffer: it reads and writes.
BytesPerSecond fusion_copy_rate(const platforms::Gpu& gpu);

/// A job that writes its checkpoint, or reads it.
struct CheckpointTransfer {
  ResolvedJob job;
  bool reads = false;
};

struct ResolvedExperiment {
  ExperimentSpec spec;
  platforms::PlatformSpec platform;
  platforms::Stack stack;                    // jobs may have others
  std::optional<platforms::Storage> storage; // absent: no job reads anything
  Value storage_at;                          // for messages
  int nodes = 1;
  std::vector<ResolvedJob> jobs;
  std::vector<CheckpointTransfer> transfers;            // over and over, with jobs or without
  std::optional<platforms::Storage> checkpoint_storage; // of them; absent: memory of two nodes
  std::vector<int> tenants;       // of each node, where more keep a part of it than run
  double pcie_scale = 1;          // of every PCIe link's rate, to ask what faster ones would bring
  std::vector<PresetUse> presets; // everything that was named, each once
  /// Whoever changes what exchanges go through starts anew with it.
  std::shared_ptr<KnownExchanges> exchanges = std::make_shared<KnownExchanges>();
};

/// What the other jobs on a job's GPUs leave it of a device's memory, where they need most.
Bytes memory_left_to(const ResolvedExperiment& experiment, std::size_t job);

} // namespace foretrain::experiments
