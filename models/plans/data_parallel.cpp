#include "models/plans/data_parallel.hpp"

#include "models/coordination.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

using sim::OpId;
using sim::Phase;

class DataParallelWriter {
public:
  explicit DataParallelWriter(const DataParallel& job) : job_(job)
  {
    program_.name = job.name;
    communication_ = program_.add_stream("communication");
    coordination_ = program_.add_stream("coordination");
    sim::WorkGroup all;
    all.name = "data";
    all.devices.emplace_back();
    for (int rank = 0; rank < job.ranks; ++rank) {
      program_.ranks.push_back({rank, 1});
      all.ranks.push_back(rank);
      all.devices.front().push_back(rank);
    }
    group_ = program_.add_group(std::move(all));
    for (std::size_t b = 0; b < job.buckets.size(); ++b)
      ready_.push_back(program_.join(Phase::data));
    backward_done_ = program_.join(Phase::data);
  }

  sim::Program write()
  {
    for (int rank = 0; rank < job_.ranks; ++rank)
      add_backward(rank);
    const OpId synchronised = add_exchange();
    for (int rank = 0; rank < job_.ranks; ++rank) {
      const OpId update =
          program_.compute(rank, Phase::optimizer, "optimizer", job_.profile.optimizer);
      program_.order(synchronised, update);
      program_.wait(rank, Phase::framework, "host work", job_.framework.step_overhead, 0);
    }
    return std::move(program_);
  }

private:
  void add_backward(int rank)
  {
    if (job_.input)
      program_.fetch(rank, 0);
    OpId last = program_.compute(rank, Phase::forward, "forward", job_.profile.forward());
    const bool overlaps = job_.framework.overlap != Overlap::none;
    Seconds done;
    for (std::size_t b = 0; b < job_.buckets.size(); ++b) {
      const Seconds until = std::max(done, job_.buckets[b].ready);
      if (until > done)
        last = program_.compute(rank, Phase::backward, "backward", until - done);
      done = until;
      if (overlaps)
        program_.order(last, ready_[b]);
    }
    if (job_.profile.backward() > done)
      last = program_.compute(rank, Phase::backward, "backward", job_.profile.backward() - done);
    if (!overlaps)
      for (const OpId bucket : ready_)
        program_.order(last, bucket);
    program_.order(last, backward_done_);
  }

  // One bucket after the other, like calls on one stream. Returns what the update waits for.
  OpId add_exchange()
  {
    const Framework& f = job_.framework;
    const Seconds agreement = Coordination(f, job_.ranks).cost();
    OpId previous;
    for (std::size_t b = 0; b < job_.buckets.size(); ++b) {
      const Bucket& bucket = job_.buckets[b];
      const OpId agreed = program_.wait(0, Phase::framework, "coordination", agreement, -1);
      program_.order(ready_[b], agreed);
      const bool copies = f.fusion_copies && bucket.tensors > 1 && job_.fusion_copy.value() > 0;
      OpId begin = agreed;
      if (copies) {
        begin = program_.wait(0, Phase::data, "into fusion buffer", bucket.size / job_.fusion_copy,
                              coordination_);
        program_.order(agreed, begin);
        program_.order(previous, begin);
      }
      const OpId sum = program_.collective(group_, sim::CollectiveKind::all_reduce, Phase::data,
                                           "all-reduce", bucket.size, communication_);
      program_.operations.back().holds = job_.held;
      program_.order(begin, sum);
      previous = sum;
      if (copies) {
        previous = program_.wait(0, Phase::data, "out of fusion buffer",
                                 bucket.size / job_.fusion_copy, coordination_);
        program_.order(sum, previous);
      }
    }
    program_.order(previous, backward_done_);
    return backward_done_;
  }

  const DataParallel& job_;
  sim::Program program_;
  int communication_ = 0;
  int coordination_ = 0;
  int group_ = 0;
  std::vector<OpId> ready_; // joins
  OpId backward_done_;
};

} // namespace

sim::Program data_parallel_program(const DataParallel& job)
{
  return DataParallelWriter(job).write();
}

} // namespace foretrain::models
