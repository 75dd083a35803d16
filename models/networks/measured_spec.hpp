// The "measured" part of a network file: stretches of a recorded training step.
#pragma once

#include "models/networks/layer.hpp"
#include "sim/base/schema.hpp"
#include "sim/cost/precision.hpp"

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

/// Part of a recorded rank's time: it waits for exchanges, is idle, runs kernels, and lets
/// exchanges begin.
struct MeasuredPiece {
  std::string phase = "forward"; // backward, optimizer; host: between steps
  MeasuredStretch work;
  std::vector<int> after;  // exchanges that must have ended before it begins
  std::vector<int> starts; // exchanges that may begin when it has ended
};

/// A step of one recorded rank from beginning to end.
struct MeasuredLine {
  int rank = 0;
  std::vector<MeasuredPiece> pieces;
};

/// A collective of a recording, or a send from one rank to another, simulated anew.
struct MeasuredExchange {
  std::string kind; // "all-reduce", "all-to-all" ... "send"
  Bytes size;       // of the whole buffer, as nccl-tests counts
  int group = 0;    // ranks that take part; 0: all of the job
  int stride = 1;   // between neighbours in a group
  Seconds waited{}; // for other ranks that were not recorded, or held up by kernels beside it
  std::vector<int> lines{};  // of those that take part; empty: all; of a send: from, to
  std::vector<int> behind{}; // of a send: exchanges that held the sender's stream before it
  std::vector<int> receives_behind{}; // ... the receiver's
  bool buffered = false;              // of a send: it ended before the receiver had come
  bool sends() const { return kind == "send"; }
  bool takes_part(int line) const;
};

struct MeasuredSpec {
  std::string device;                      // as the recording names it
  std::string gpu;                         // the preset that it is; empty: none known
  std::optional<sim::Precision> precision; // of its products; absent: not told
  std::optional<int> batch; // samples per device; absent: not told, taken as the job's
  double scale = 1;
  Seconds step;
  std::optional<double> variation;
  std::vector<MeasuredStretch> forward, backward; // in the order of execution
  MeasuredStretch optimizer;
  Seconds host;                            // after the last kernel until the next step
  Seconds input;                           // the same, waiting for a batch
  Seconds copy;                            // of the batch to the device, exposed
  int ranks = 1;                           // of the job that was recorded
  std::vector<MeasuredExchange> exchanges; // in the order in which every rank began them
  std::vector<MeasuredLine> lines;         // of the ranks that were recorded; with exchanges only
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
void describe(V& v, MeasuredPiece& s)
{
  v.optional("phase", s.phase, "what it is part of; host: the device does nothing between steps",
             one_of({"forward", "backward", "optimizer", "host"}));
  v.optional("product", s.work.product, "as of a stretch", non_negative());
  v.optional("memory", s.work.memory, "as of a stretch", non_negative());
  v.optional("idle", s.work.idle, "as of a stretch; before its kernels", non_negative());
  v.optional("kernels", s.work.kernels, "how many were launched", non_negative());
  v.optional("host_bound", s.work.host_bound, "as of a stretch");
  v.optional("after", s.after, "exchanges, counted from 0, that it waits for", between(0, 1e6));
  v.optional("starts", s.starts, "exchanges that wait for it on this rank", between(0, 1e6));
}

template <class V>
void describe(V& v, MeasuredLine& s)
{
  v.optional("rank", s.rank, "of the job that was recorded", between(0, 65535));
  v.required("pieces", s.pieces, "from the beginning of the step to its end");
}

template <class V>
void describe(V& v, MeasuredExchange& s)
{
  v.required(
      "kind", s.kind, "which collective; send: from one rank to another",
      one_of({"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send"}));
  v.required("size", s.size, "of the whole buffer of a rank, as nccl-tests counts", non_negative());
  v.optional("group", s.group, "ranks that take part; 0: all of the job", between(0, 65536));
  v.optional("stride", s.stride, "between neighbours in a group", between(1, 65536));
  v.optional("waited", s.waited,
             "time of it in which the recorded rank waited for others that were not recorded, or "
             "kernels held it up; kept as it was",
             non_negative());
  v.optional("lines", s.lines,
             "lines that take part, counted from 0; of a send: from and to; default all",
             between(0, 65535));
  v.optional("behind", s.behind,
             "of a send: exchanges that held the sender's stream until they ended",
             between(0, 1e6));
  v.optional("receives_behind", s.receives_behind,
             "of a send: exchanges that held the receiver's stream until they ended",
             between(0, 1e6));
  v.optional("buffered", s.buffered,
             "of a send: a small one, which ended before its receiver had come");
}

template <class V>
void describe(V& v, MeasuredSpec& s)
{
  v.optional("device", s.device, "the device as the recording names it");
  v.optional("gpu", s.gpu, "name of its GPU preset; needed to scale times to another one");
  v.optional("precision", s.precision, "of its products, as kernels' names tell it",
             one_of({"fp32", "tf32", "fp16", "bf16"}));
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
  v.optional("exchanges", s.exchanges,
             "collectives of the recording in their order, simulated on more than one GPU");
  v.optional("lines", s.lines,
             "with exchanges: a step of each recorded rank; the job's ranks take them in turn, or "
             "in blocks of neighbours where exchanges name lines");
}

/// Throws ConfigError unless every line starts every exchange of its own once, collectives in their
/// order, waits for none before, and no job of any ranks waits in a circle.
void check_exchanges(const MeasuredSpec& measured, const Value& at);

/// Whether lines wait for one another in a circle, which is told of one job of any ranks. Lines and
/// exchanges name only one another that are there.
bool waits_in_circle(const MeasuredSpec& measured);

/// Whether exchanges name lines: then a job's ranks take lines in blocks.
bool names_lines(const MeasuredSpec& measured);

/// Layers that hold the gradients, the last ones of the backward pass first in forward order.
std::vector<Layer> measured_layers(const MeasuredSpec& measured);

} // namespace foretrain::models
