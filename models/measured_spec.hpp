// The "measured" part of a network file: stretches of a recorded training step.
#pragma once

#include "models/layer.hpp"
#include "sim/base/schema.hpp"

#include <optional>
#include <string>
#include <vector>

namespace foretrain::models {

/// Kernels in a row.
struct MeasuredStretch {
  std::string name;
  Seconds product; // kernels that multiply: matrix products, convolutions, fused attention
  Seconds memory;  // all others: their time is that of moving data
  Seconds idle;    // of the device in between, its exchanges left out
  int kernels = 0;
  bool host_bound = false;    // the device waited for launches
  std::vector<int> gradients; // elements of each that is complete at its end
};

struct MeasuredSpec {
  std::string device;       // as the recording names it
  std::string gpu;          // the preset that it is; empty: none known
  std::string precision;    // of its products; empty: not told
  std::optional<int> batch; // samples per device; absent: not told, taken as the job's
  double scale = 1;
  Seconds step;
  std::optional<double> variation;
  std::vector<MeasuredStretch> forward, backward; // in the order of execution
  MeasuredStretch optimizer;
  Seconds host;  // after the last kernel until the next step
  Seconds input; // the same, waiting for a batch
  Seconds copy;  // of the batch to the device, exposed
  int ranks = 1; // of the job that was recorded
};

template <class V>
void describe(V& v, MeasuredStretch& s)
{
  v.optional("name", s.name, "what it computes, for people");
  v.optional("product", s.product, "time of matrix products, convolutions and fused attention",
             non_negative());
  v.optional("memory", s.memory, "time of all other kernels, which move data", non_negative());
  v.optional("idle", s.idle, "time between them in which the device does nothing", non_negative());
  v.optional("kernels", s.kernels, "how many were launched", non_negative());
  v.optional("host_bound", s.host_bound,
             "the device waited for launches: faster kernels would not make it shorter");
  v.optional("gradients", s.gradients, "elements of each gradient that is complete at its end",
             positive());
}

template <class V>
void describe(V& v, MeasuredSpec& s)
{
  v.optional("device", s.device, "the device as the recording names it");
  v.optional("gpu", s.gpu, "name of its GPU preset; needed to scale times to another one");
  v.optional("precision", s.precision, "of its products, as kernels' names tell it",
             one_of({"", "fp32", "tf32", "fp16", "bf16"}));
  v.optional("batch", s.batch, "samples per device and step; default as many as the job has",
             between(1, 1e6));
  v.optional("scale", s.scale, "factor on all kernel times", positive());
  v.optional("step", s.step, "length of a recorded step, for comparison", non_negative());
  v.optional("variation", s.variation, "coefficient of variation of the steps' lengths",
             between(0, 1));
  v.optional("forward", s.forward, "stretches of the forward pass in order");
  v.required("backward", s.backward, "stretches of the backward pass in order");
  v.optional("optimizer", s.optimizer, "the update of the weights");
  v.optional("host", s.host, "host time between steps in which the device does nothing",
             non_negative());
  v.optional("input", s.input,
             "time between steps waiting for a batch; left out where the job has an input",
             non_negative());
  v.optional("copy", s.copy,
             "time copying the batch to the device; left out where the job has an input",
             non_negative());
  v.optional("ranks", s.ranks, "devices of the job that was recorded", between(1, 65536));
}

/// Layers that hold the gradients, the last ones of the backward pass first in forward order.
std::vector<Layer> measured_layers(const MeasuredSpec& measured);

} // namespace foretrain::models
