// A run that realrun measured, as an experiment: the same network, ranks, buckets, cores and wire,
// so that prediction and measurement can be set side by side (docs/twin.md).
#pragma once

#include "calibration/realrun_record.hpp"

namespace foretrain::experiments {

/// The layers of a realrun model file as a network ("foretrain.network/1"). Throws ConfigError.
Json realrun_network(const Value& model);

/// The transport of a path: "loopback", "veth" for host, "veth-route", "veth-vxlan".
std::string realrun_transport(const std::string& path);

/// The experiment that a record measured ("foretrain.experiment/1"). `platform` names a preset or
/// file of the machine it ran on: one whose "GPUs" are ranks on cores (host_cores), like vm-2core.
/// Throws ConfigError and UsageError for what cannot be expressed: a run on GPUs, a limit on disk.
Json realrun_experiment(const calibration::TrainingRecord& record, const std::string& platform);

} // namespace foretrain::experiments
