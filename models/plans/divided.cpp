#include "models/plans/divided.hpp"

#include "models/plans/stage_devices.hpp"
#include "models/plans/written_pass.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using sim::OpId;
using sim::Phase;

constexpr std::size_t kMostOperations = 4000; // of a step; more layers are written as one

Phase phase_of(PlanGroup group)
{
  switch (group) {
  case PlanGroup::tensor:
  case PlanGroup::expert_tensor:
    return Phase::tensor;
  case PlanGroup::context:
  case PlanGroup::heads:
  case PlanGroup::ring:
    return Phase::context;
  case PlanGroup::expert:
  case PlanGroup::expert_node:
    return Phase::expert;
  case PlanGroup::data:
  case PlanGroup::shard:
  case PlanGroup::across:
  case PlanGroup::expert_data:
    return Phase::data;
  }
  return Phase::data;
}

sim::CollectiveKind kind_of(Operation operation)
{
  switch (operation) {
  case Operation::all_gather:
    return sim::CollectiveKind::all_gather;
  case Operation::reduce_scatter:
    return sim::CollectiveKind::reduce_scatter;
  case Operation::broadcast:
    return sim::CollectiveKind::broadcast;
  case Operation::all_to_all:
    return sim::CollectiveKind::all_to_all;
  case Operation::send_receive:
    return sim::CollectiveKind::neighbours;
  default:
    return sim::CollectiveKind::all_reduce;
  }
}

class DividedWriter {
public:
  DividedWriter(const StepSetting& setting, const PlannedStep& step, ExchangeTimes& times,
                const Neighbours* neighbours, bool sets)
      : s_(setting), step_(step), times_(times), sets_(sets)
  {
    program_.exchanges = sim::Exchanges::apart;
    if (neighbours != nullptr)
      devices_.emplace(neighbours->nodes, neighbours->busy, s_.memory);
    const int per_stage = s_.memory.batch.gpus / s_.memory.plan.pipeline;
    for (const Phase phase :
         {Phase::tensor, Phase::context, Phase::expert, Phase::pipeline, Phase::data})
      streams_[phase] = program_.add_stream(sim::name_of(phase));
    for (int stage = 0; stage < s_.memory.plan.pipeline; ++stage)
      program_.ranks.push_back({devices_ ? devices_->of(stage) : stage * per_stage, per_stage});
    while (operations() > kMostOperations && together_ < s_.memory.model.layers)
      together_ *= 2;
  }

  sim::Program write()
  {
    all_gradients_ = program_.join(Phase::optimizer);
    for (stage_ = 0; stage_ < s_.memory.plan.pipeline; ++stage_)
      write_stage();
    return std::move(program_);
  }

private:
  // Of a step, about.
  std::size_t operations() const
  {
    std::size_t sum = 0;
    for (const auto& slices : step_.run.slices)
      for (const PipelineSlice& slice : slices)
        for (const PlanUnit& unit : step_.pieces[static_cast<std::size_t>(slice.piece)].units)
          sum += static_cast<std::size_t>((unit.count + together_ - 1) / together_) *
                 (5 + unit.ahead.tensor.calls.size() + unit.ahead.context.calls.size() +
                  unit.ahead.expert.calls.size());
    return sum;
  }

  void write_stage()
  {
    times_.of_stage(stage_);
    last_ = OpId{};
    pending_.clear();
    std::deque<Seconds> put_off; // gradients of weights that are still to be made
    const StageEnds& ends = step_.ends[static_cast<std::size_t>(stage_)];
    const OpId rest = start_parameters(ends.parameters);
    const auto& slices = step_.run.slices[static_cast<std::size_t>(stage_)];
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const PipelineSlice& slice = slices[i];
      const bool second = i > 0 && slices[i - 1].paired;
      if (!second)
        wait_for_arrival(slice);
      if (slice.paired)
        wait_for_arrival(slices[i + 1]);
      const bool last = i + 1 == slices.size();
      OpId gradients;
      if (last && slice.weights == 0)
        gradients = start_gradients(ends.gradients, slice.end - slice.start);
      if (const Seconds later = write_slice(slice); slice.split)
        put_off.push_back(later);
      if (i == 0 && rest)
        pending_.push_back(rest);
      if (second)
        send(slices[i - 1]);
      if (!slice.paired)
        send(slice);
      for (int made = 0; made < slice.weights; ++made) {
        if (last && made + 1 == slice.weights)
          gradients = start_gradients(ends.gradients, put_off.front());
        work({{Phase::backward, put_off.front()}}, "gradients of weights");
        put_off.pop_front();
      }
      if (last)
        finish_gradients(ends.gradients, gradients);
    }
    wait_for_all_gradients();
    work({{Phase::optimizer, ends.optimizer - ends.idle}, {Phase::framework, ends.idle}},
         "optimizer");
    const OpId host = program_.wait(stage_, Phase::framework, "host work", s_.overhead, 0);
    for (const OpId each : pending_)
      program_.order(each, host);
  }

  // What the first pass waits for; returns what rides beside it.
  OpId start_parameters(const Exposure& parameters)
  {
    if (parameters.whole.value() <= 0)
      return {};
    const double ahead = parameters.exposed / parameters.whole;
    pending_.push_back(exchange(alike_as_one(parameters.scaled(std::min(1.0, ahead)).calls), {}));
    return ahead < 1 ? exchange(alike_as_one(parameters.scaled(1 - ahead).calls), {}) : OpId{};
  }

  void wait_for_arrival(const PipelineSlice& slice)
  {
    const int last = static_cast<int>(step_.pieces.size()) - 1;
    if (slice.backward ? slice.piece < last : slice.piece > 0)
      pending_.push_back(arrival(slice.backward, slice.piece, slice.micro_batch));
  }

  // When enough of the last pass, or of the last gradients of weights, is done for what of the
  // gradients rides beside it; none: nothing does.
  OpId start_gradients(const Exposure& gradients, Seconds length)
  {
    const Seconds hidden = std::clamp(gradients.whole - gradients.exposed, Seconds(0), length);
    if (hidden.value() <= 0)
      return {};
    const OpId start =
        program_.wait(stage_, Phase::data, "until gradients are there", length - hidden, -1);
    after_all(start);
    return start;
  }

  // The stage's neighbours do not wait for this.
  void finish_gradients(const Exposure& gradients, OpId start)
  {
    if (gradients.whole.value() > 0)
      pending_.push_back(
          exchange(alike_as_one(gradients.calls), start ? std::vector<OpId>{start} : all_so_far()));
  }

  // Of the whole model, whose norm every stage needs.
  void wait_for_all_gradients()
  {
    if (s_.memory.plan.pipeline < 2)
      return;
    after_all(all_gradients_);
    pending_ = {all_gradients_};
  }

  // One pass through a piece. Returns what of it is put off.
  Seconds write_slice(const PipelineSlice& slice)
  {
    const auto [known, anew] = passes_.try_emplace({slice.piece, slice.backward, slice.split});
    if (anew)
      known->second = written_pass(
          step_.pieces[static_cast<std::size_t>(slice.piece)], slice.backward, together_,
          slice.split ? step_.pipeline.pieces[static_cast<std::size_t>(slice.piece)].weights
                      : Seconds(0));
    const OpId copied = copy(slice);
    for (const WrittenPart& part : known->second.parts) {
      work(part.ahead, part.name);
      if (part.calls.empty()) {
        work(part.beside, part.name);
        continue;
      }
      const OpId end = exchange(part.calls, all_so_far());
      work(part.beside, part.name);
      pending_.push_back(end);
    }
    if (copied)
      pending_.push_back(copied);
    return known->second.put_off;
  }

  // What a pass keeps goes to host memory beside it, and comes back beside the backward one.
  OpId copy(const PipelineSlice& slice)
  {
    const PieceCost& piece = step_.pieces[static_cast<std::size_t>(slice.piece)];
    if (piece.away.value() <= 0)
      return {};
    if (copies_ < 0)
      copies_ = program_.add_stream("copies");
    const OpId op = program_.offload(stage_, slice.backward ? Phase::backward : Phase::forward,
                                     slice.backward ? "activations from host memory"
                                                    : "activations to host memory",
                                     piece.away, !slice.backward, copies_);
    program_.operations.back().alone = piece.copied;
    for (const OpId each : all_so_far())
      program_.order(each, op);
    return op;
  }

  void work(const std::vector<PhaseTime>& parts, const char* what)
  {
    for (const PhaseTime& part : parts) {
      if (part.time.value() <= 0)
        continue;
      const OpId op = part.phase == Phase::framework
                          ? program_.wait(stage_, part.phase, "idle", part.time, 0)
                          : program_.compute(stage_, part.phase, what, part.time);
      for (const OpId each : pending_)
        program_.order(each, op);
      pending_.clear();
      last_ = op;
    }
  }

  // What the device's next operation waits for.
  std::vector<OpId> all_so_far() const
  {
    std::vector<OpId> all = pending_;
    if (last_)
      all.push_back(last_);
    return all;
  }
  void after_all(OpId op)
  {
    for (const OpId each : all_so_far())
      program_.order(each, op);
  }

  // Calls one after the other.
  OpId exchange(const PlannedCalls& calls, const std::vector<OpId>& after)
  {
    std::vector<OpId> before = after;
    OpId last;
    for (const PlannedCall& call : calls) {
      const Phase phase = phase_of(call.group);
      const OpId op = program_.collective(group(call.group), kind_of(call.operation), phase,
                                          sim::name_of(kind_of(call.operation)), call.size,
                                          stream_of(call.group));
      program_.operations.back().calls = call.times;
      program_.operations.back().alone =
          call.times * times_.time(call.group, call.operation, call.size);
      for (const OpId each : before)
        program_.order(each, op);
      before = {op};
      last = op;
    }
    return last;
  }

  // Sums between shards of nodes do not queue behind those among them (PyTorch, fully_shard:
  // all_reduce_stream).
  int stream_of(PlanGroup group)
  {
    if (group != PlanGroup::across)
      return streams_.at(phase_of(group));
    if (across_ < 0)
      across_ = program_.add_stream("data across nodes");
    return across_;
  }

  // To the next piece, or back to the one before, where that is another stage's.
  void send(const PipelineSlice& slice)
  {
    const int next = slice.piece + (slice.backward ? -1 : 1);
    if (next < 0 || next >= static_cast<int>(step_.pieces.size()) || step_.pipeline.stages < 2)
      return;
    const int to = stage_of_piece(step_.pipeline.schedule, step_.pipeline.stages, next);
    if (to == stage_)
      return;
    const bool blocking = step_.pipeline.blocking;
    const OpId sent = program_.transfer(
        stage_, to, Phase::pipeline, slice.backward ? "gradients of activations" : "activations",
        transfer_size(s_), blocking ? 0 : streams_.at(Phase::pipeline), pair(stage_, to));
    program_.operations.back().alone = transfer_time(step_.pipeline, slice);
    after_all(sent);
    program_.order(sent, arrival(slice.backward, next, slice.micro_batch));
    if (blocking) {
      pending_.clear();
      last_ = sent;
    }
  }

  OpId arrival(bool backward, int piece, int micro_batch)
  {
    OpId& join = arrivals_[{backward, piece, micro_batch}];
    if (!join)
      join = program_.join(Phase::pipeline);
    return join;
  }

  int group(PlanGroup which)
  {
    const auto [it, made] = groups_.try_emplace({which, stage_}, 0);
    if (made) {
      sim::WorkGroup group{
          fmt::format("{} of stage {}", sim::name_of(phase_of(which)), stage_), {stage_}, {}};
      group.size = times_.ranks(which);
      if (sets_ && devices_) {
        group.devices = devices_->groups(which, stage_);
      } else if (sets_) {
        ExchangeSets all = times_.sets(which);
        group.devices = std::move(all.own);
        group.beside = std::move(all.others);
      }
      it->second = program_.add_group(std::move(group));
    }
    return it->second;
  }

  int pair(int from, int to)
  {
    const auto [it, made] = pairs_.try_emplace({from, to}, 0);
    if (made) {
      sim::WorkGroup group{fmt::format("stages {} to {}", from, to), {from, to}, {}};
      if (sets_)
        group.devices = devices_ ? devices_->pairs(from, to) : times_.pairs(from, to);
      it->second = program_.add_group(std::move(group));
    }
    return it->second;
  }

  const StepSetting& s_;
  const PlannedStep& step_;
  ExchangeTimes& times_;
  bool sets_;
  std::optional<StageDevices> devices_; // where others are on the machine
  sim::Program program_;
  int together_ = 1; // layers
  std::map<Phase, int> streams_;
  int copies_ = -1; // stream of them
  int across_ = -1; // stream of sums between nodes' shards
  std::map<std::pair<PlanGroup, int>, int> groups_;
  std::map<std::pair<int, int>, int> pairs_;
  std::map<std::tuple<int, bool, bool>, WrittenPass> passes_; // by piece, forward and backward
  std::map<std::tuple<bool, int, int>, OpId> arrivals_;
  OpId all_gradients_;
  // Of the stage that is being written:
  int stage_ = 0;
  OpId last_;                 // on its device
  std::vector<OpId> pending_; // what the next operation there waits for beside it
};

} // namespace

sim::Program divided_program(const StepSetting& setting, const PlannedStep& step,
                             ExchangeTimes& exchanges, const Neighbours* neighbours, bool sets)
{
  return DividedWriter(setting, step, exchanges, neighbours, sets).write();
}

} // namespace foretrain::models
