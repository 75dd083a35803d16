#include "models/plans/data_parallel.hpp"

#include "models/training/coordination.hpp"
#include "models/training/fetch.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace foretrain::models {

namespace {

using sim::OpId;
using sim::Phase;

class DataParallelWriter {
public:
  explicit DataParallelWriter(const DataParallel& job)
      : job_(job), recorded_idle_(job.profile.idle().value() > 0)
  {
    program_.name = job.name;
    program_.ranks = job.ranks;
    sim::WorkGroup all;
    all.name = "data";
    all.algorithm = job.framework.algorithm;
    all.ranks.resize(job.ranks.size());
    std::iota(all.ranks.begin(), all.ranks.end(), 0);
    all.devices.emplace_back(static_cast<std::size_t>(devices()));
    std::iota(all.devices.front().begin(), all.devices.front().end(), 0);
    group_ = program_.add_group(std::move(all));
    communication_ = program_.add_stream("communication");
    for (std::size_t b = 0; b < job.buckets.size(); ++b)
      ready_.push_back(program_.join(Phase::data));
    synchronised_ = program_.join(Phase::data);
  }

  sim::Program write()
  {
    add_exchange();
    if (job_.adding == Adding::fetching)
      add_variables();
    add_tables();
    if (job_.framework.overlap != Overlap::none)
      for (std::size_t b = 0; b < job_.buckets.size(); ++b)
        after_backward_.push_back({job_.buckets[b].ready, ready_[b]});
    for (auto* marks : {&needed_forward_, &after_forward_, &needed_backward_, &after_backward_})
      std::stable_sort(marks->begin(), marks->end(),
                       [](const Mark& a, const Mark& b) { return a.at < b.at; });
    const int ranks = static_cast<int>(job_.ranks.size());
    std::vector<OpId> updates;
    for (int rank = 0; rank < ranks; ++rank) {
      add_passes(rank);
      const Stretch update = add_stretch(rank, Phase::optimizer, "optimizer",
                                         job_.profile.optimizer, job_.profile.optimizer_idle);
      program_.order(synchronised_, update.first);
      updates.push_back(update.last);
    }
    // Host work of the framework that no kernel hides.
    const OpId last =
        program_.wait(0, Phase::framework, "host work", job_.framework.step_overhead, -1);
    for (const OpId update : updates)
      program_.order(update, last);
    return std::move(program_);
  }

private:
  struct Mark { // in a pass: what has to end before it goes on from there, or may begin then
    Seconds at;
    OpId op;
  };

  struct Stretch {
    OpId first, last;
  };

  // Kernels, and what of the time the GPU has none, as recorded: the host's.
  Stretch add_stretch(int rank, Phase phase, const char* name, Seconds time, Seconds idle)
  {
    if (idle.value() <= 0) {
      const OpId kernels = program_.compute(rank, phase, name, time);
      return {kernels, kernels};
    }
    const OpId waited = program_.wait(rank, Phase::framework, "idle", idle, 0);
    if (time <= idle)
      return {waited, waited};
    return {waited, program_.compute(rank, phase, name, time - idle)};
  }

  int devices() const
  {
    int sum = 0;
    for (const sim::WorkRank& rank : job_.ranks)
      sum += rank.stands_for;
    return sum;
  }

  void add_passes(int rank)
  {
    OpId last;
    for (int batch = 0; batch < job_.batches; ++batch) {
      if (job_.input)
        program_.fetch(rank, 0);
      const bool first = batch == 0, exchanged = batch + 1 == job_.batches;
      last = add_pass(rank, Phase::forward, first ? needed_forward_ : nothing_,
                      first ? after_forward_ : nothing_, last);
      last = add_pass(rank, Phase::backward, exchanged ? needed_backward_ : nothing_,
                      exchanged ? after_backward_ : nothing_, last);
      if (!exchanged && job_.adding_up.value() > 0)
        last = program_.compute(rank, Phase::backward, "adding up gradients", job_.adding_up);
    }
    if (job_.framework.overlap == Overlap::none)
      for (const OpId bucket : ready_)
        program_.order(last, bucket);
    program_.order(last, synchronised_);
  }

  // One pass in pieces that end where something waits for it or it for something; `last` is what
  // the rank did before. Gives what it did last.
  OpId add_pass(int rank, Phase phase, const std::vector<Mark>& before,
                const std::vector<Mark>& after, OpId last)
  {
    const bool forward = phase == Phase::forward;
    const Seconds end = forward ? job_.profile.forward() : job_.profile.backward();
    std::vector<Seconds> ends{end};
    for (const auto* marks : {&before, &after})
      for (const Mark& mark : *marks)
        if (mark.at > Seconds(0) && mark.at < end)
          ends.push_back(mark.at);
    std::sort(ends.begin(), ends.end());
    Seconds done;
    auto needed = before.begin();
    auto told = after.begin();
    const auto tell = [&] {
      for (; told != after.end() && (told->at <= done || done >= end); ++told)
        program_.order(last, told->op);
    };
    tell();
    for (const Seconds until : ends) {
      if (until > done || (forward && !last)) {
        const Stretch piece =
            add_stretch(rank, phase, sim::name_of(phase), until - done, idle(phase, done, until));
        for (; needed != before.end() && needed->at <= done; ++needed)
          program_.order(needed->op, piece.first);
        last = piece.last;
        done = until;
      }
      tell();
    }
    if (needed != before.end()) // by nothing in the pass: by what comes after it
      last = add_stretch(rank, phase, sim::name_of(phase), Seconds(0), Seconds(0)).last;
    for (; needed != before.end(); ++needed)
      program_.order(needed->op, last);
    return last;
  }

  // As recorded; most jobs' profiles have none.
  Seconds idle(Phase phase, Seconds from, Seconds until) const
  {
    if (!recorded_idle_)
      return Seconds(0);
    return phase == Phase::forward ? job_.profile.forward_idle(from, until)
                                   : job_.profile.backward_idle(from, until);
  }

  // Calls of the library are one after the other, like all on one stream; servers take what comes.
  void add_exchange()
  {
    const Framework& f = job_.framework;
    const Coordination coordination(f, devices());
    OpId previous;
    for (std::size_t b = 0; b < job_.buckets.size(); ++b) {
      const Bucket& bucket = job_.buckets[b];
      const bool copies = f.fusion_copies && bucket.tensors > 1 && job_.fusion_copy.value() > 0;
      const auto copy = [&](const char* what, OpId after) {
        if (!copies)
          return after;
        const OpId copied = program_.wait(0, Phase::data, what, bucket.size / job_.fusion_copy, -1);
        program_.order(after, copied);
        return copied;
      };
      OpId begin = program_.join(Phase::data);
      if (!bucket.agreed_with_previous) {
        const OpId agreed =
            program_.agree(coordination.cost, overdue(b) ? Seconds(0) : coordination.period);
        program_.order(asked_after(b), agreed);
        program_.order(agreed, begin);
      }
      program_.order(ready_[b], begin);
      if (job_.adding == Adding::all_reduce)
        program_.order(previous, begin);
      begin = copy("into fusion buffer", begin);
      const OpId sum = add_sum(bucket.size);
      program_.order(begin, sum);
      previous = copy("out of fusion buffer", sum);
      program_.order(previous, synchronised_);
    }
  }

  // The thread that asks has waited for the bucket before, and its next cycle is due.
  bool overdue(std::size_t b) const
  {
    return agrees_ahead(job_.framework) && b > 0 &&
           job_.buckets[b].launched <= job_.profile.forward() + job_.buckets[b - 1].ready;
  }

  // What the thread that asks the ranks about a bucket has waited for: its gradients, or their
  // launch and the gradients of the bucket before.
  OpId asked_after(std::size_t b)
  {
    if (!agrees_ahead(job_.framework))
      return ready_[b];
    const OpId launched =
        program_.wait(0, Phase::framework, "launch", job_.buckets[b].launched, -1);
    if (b == 0)
      return launched;
    const OpId asked = program_.join(Phase::framework);
    program_.order(launched, asked);
    program_.order(ready_[b - 1], asked);
    return asked;
  }

  OpId add_sum(Bytes size)
  {
    if (job_.adding != Adding::all_reduce)
      return program_.synchronise(group_, "synchronisation", size);
    const OpId sum = program_.collective(group_, sim::CollectiveKind::all_reduce, Phase::data,
                                         "all-reduce", size, communication_);
    program_.operations.back().holds = job_.held;
    return sum;
  }

  // Layers wait for their variables. Buckets are in the order of backward: the last one's are
  // needed first.
  void add_variables()
  {
    std::vector<OpId> brought;
    for (const Bucket& bucket : job_.buckets)
      brought.push_back(program_.variables(group_, "variables", bucket.size));
    const std::vector<Seconds> points = needed_at(job_.buckets, job_.profile);
    for (std::size_t b = brought.size(); b-- > 0;)
      needed_forward_.push_back({points[b], brought[b]});
  }

  // What begins first of the exchange of a table's rows or gradients, and what ends last.
  using Span = std::pair<OpId, OpId>;

  // The devices of each node, or those of the same number on all nodes.
  int add_sets(const char* name, bool of_node)
  {
    const int gpus = devices() / job_.nodes;
    sim::WorkGroup group = program_.groups.front();
    group.name = name;
    group.algorithm = "auto";
    group.devices.clear();
    for (int set = 0; set < (of_node ? job_.nodes : gpus); ++set) {
      std::vector<int>& members = group.devices.emplace_back();
      for (int member = 0; member < (of_node ? gpus : job_.nodes); ++member)
        members.push_back(of_node ? set * gpus + member : member * gpus + set);
    }
    return program_.add_group(std::move(group));
  }

  // On a stream of their own: rows wait for no gradients of other layers.
  void add_tables()
  {
    if (job_.tables.empty())
      return;
    const bool by_node = std::any_of(job_.tables.begin(), job_.tables.end(),
                                     [](const TableExchange& t) { return t.within.value() > 0; });
    sim::WorkGroup all = program_.groups.front();
    all.name = "tables";
    all.algorithm = "auto";
    const int group =
        by_node ? add_sets("tables between nodes", false) : program_.add_group(std::move(all));
    const int node = by_node ? add_sets("tables of a node", true) : -1;
    const int stream = program_.add_stream("tables");
    const auto send = [&](int to, const char* what, Bytes size) {
      return program_.collective(to, sim::CollectiveKind::all_to_all, Phase::data, what, size,
                                 stream);
    };
    const auto rows = [&](const TableExchange& tables) {
      if (!by_node) {
        const OpId sent = send(group, "rows of tables", tables.size);
        return Span(sent, sent);
      }
      const OpId first = send(node, "rows within the node", tables.within);
      const OpId last = send(group, "rows of tables", tables.size);
      program_.order(first, last);
      return Span(first, last);
    };
    const auto gradients = [&](const TableExchange& tables) {
      const OpId first = send(group, "gradients of rows", tables.size);
      if (!by_node)
        return Span(first, first);
      const OpId last = send(node, "gradients within the node", tables.within);
      program_.order(first, last);
      return Span(first, last);
    };
    for (const TableExchange& tables : job_.tables) {
      const auto [first, last] = rows(tables);
      after_forward_.push_back({tables.looked_up, first});
      needed_forward_.push_back({tables.needed, last});
    }
    for (auto tables = job_.tables.rbegin(); tables != job_.tables.rend(); ++tables) {
      const auto [first, last] = gradients(*tables);
      after_backward_.push_back({tables->gradients_there, first});
      if (tables->shared.value() > 0) {
        const OpId sum = program_.collective(group_, sim::CollectiveKind::all_reduce, Phase::data,
                                             "gradients of shared rows", tables->shared,
                                             program_.add_stream("shared rows"));
        program_.order(sum, synchronised_);
        after_backward_.push_back({tables->gradients_there, sum});
      }
      needed_backward_.push_back({tables->gradients_needed, last});
    }
  }

  const DataParallel& job_;
  bool recorded_idle_; // the GPU has no kernel at times: most jobs' profiles have none of it
  sim::Program program_;
  int communication_ = 0;
  int group_ = 0;
  std::vector<OpId> ready_; // of each bucket
  OpId synchronised_;
  std::vector<Mark> needed_forward_, after_forward_, needed_backward_, after_backward_;
  const std::vector<Mark> nothing_;
};

} // namespace

sim::Program data_parallel_program(const DataParallel& job)
{
  return DataParallelWriter(job).write();
}

std::vector<sim::WorkRank> folded(const std::vector<bool>& apart)
{
  std::vector<sim::WorkRank> ranks;
  bool open = false; // the last rank takes in what follows
  for (std::size_t device = 0; device < apart.size(); ++device) {
    if (!apart[device] && open)
      ++ranks.back().stands_for;
    else
      ranks.push_back({static_cast<int>(device), 1});
    open = !apart[device];
  }
  return ranks;
}

} // namespace foretrain::models
