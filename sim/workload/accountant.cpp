#include "sim/workload/accountant.hpp"

#include <algorithm>

namespace foretrain::sim {

namespace {

std::size_t at(Phase phase)
{
  return static_cast<std::size_t>(phase);
}

// A collective that a rank takes part in.
struct Running {
  Seconds arrived; // the rank
  Seconds start;   // when all had
  Seconds end;
  Phase phase;
};

// One rank's step, told from its beginning to its end.
class RankAccount {
public:
  RankAccount(const StepDates& dates, int rank, bool stages, Seconds start, double mean_speed)
      : dates_(dates), rank_(rank), stages_(stages), mean_speed_(mean_speed), told_(start)
  {
  }

  /// The next operation of the rank's first stream. `others_end`: of the kernels of all ranks that
  /// it waits for beside exchanges.
  void follow(OpId op, Seconds others_end)
  {
    const Seconds begin = dates_.started(op);
    if (const Seconds slower = std::min(begin, others_end); slower > told_) {
      others() += slower - told_;
      told_ = slower;
    }
    if (begin > told_)
      waited_for(dates_.released_by(op), told_, begin);
    told_ = std::max(told_, begin);
    const Seconds end = dates_.finished(op);
    if (end > told_) {
      const bool idle = operation(op).kind == WorkKind::wait;
      const Seconds beside = idle ? exposed_beside(told_, end, &Running::arrived) : Seconds(0);
      worked(op, end - told_ - beside);
    }
    told_ = std::max(told_, end);
  }

  /// Collectives in the order in which they are told.
  void takes_part(OpId collective)
  {
    const Seconds arrived = dates_.arrived(collective, rank_);
    const Seconds end = dates_.finished(collective);
    if (end > arrived)
      running_.push_back({arrived, dates_.started(collective), end, operation(collective).phase});
  }
  void sort_collectives()
  {
    std::sort(running_.begin(), running_.end(),
              [](const Running& a, const Running& b) { return a.arrived < b.arrived; });
  }

  /// Nothing of its own follows: until `end` it waited for `last`, the step's last operation.
  void close(OpId last, Seconds end)
  {
    if (end > told_)
      waited_for(last, told_, end);
    told_ = std::max(told_, end);
  }

  const StepShares& shares() const { return shares_; }

private:
  const Operation& operation(OpId op) const
  {
    return dates_.program().operations[static_cast<std::size_t>(op.value)];
  }

  // Of a stretch in which the device does nothing: the time beside a collective is exposed, from
  // when the rank had arrived, as its kernel waits for the others', or from its start.
  Seconds exposed_beside(Seconds begin, Seconds end, Seconds Running::*since)
  {
    Seconds sum;
    while (next_ < running_.size() && running_[next_].end <= begin)
      ++next_;
    for (std::size_t i = next_; i < running_.size() && running_[i].arrived < end; ++i) {
      const Seconds from = std::max(begin, running_[i].*since);
      const Seconds to = std::min(end, running_[i].end);
      if (to <= from)
        continue;
      shares_.exposed[at(running_[i].phase)] += to - from;
      sum += to - from;
      begin = to;
    }
    return sum;
  }

  // While `op` was running, on the first stream or as what that waited for.
  void worked(OpId op, Seconds time)
  {
    const Operation& it = operation(op);
    switch (it.kind) {
    case WorkKind::collective:
    case WorkKind::transfer:
    case WorkKind::synchronise:
    case WorkKind::variables:
      shares_.exposed[at(it.phase)] += time;
      return;
    case WorkKind::compute:
      if (it.rank != rank_) {
        others() += time;
      } else {
        const double busy = varies(it) ? mean_speed_ : 1;
        shares_.busy[at(it.phase)] += busy * time;
        shares_.straggler += (1 - busy) * time;
      }
      return;
    case WorkKind::offload:
      shares_.offload += time;
      return;
    case WorkKind::fetch:
      shares_.input += time;
      return;
    case WorkKind::wait:
      (exchanges(it.phase) ? shares_.exposed[at(it.phase)] : shares_.framework) += time;
      return;
    case WorkKind::host:
    case WorkKind::agree:
    case WorkKind::join:
      shares_.framework += time;
      return;
    }
  }

  // From `begin` to `end` the rank waited for the end of `op`, and before that for what it waited.
  void waited_for(OpId op, Seconds begin, Seconds end)
  {
    while (op && end > begin) {
      const Seconds running = std::max(begin, dates_.started(op));
      if (end > running)
        worked(op, end - running);
      end = std::min(end, running);
      if (end <= begin)
        return;
      const OpId before = dates_.released_by(op);
      const WorkKind kind = operation(op).kind;
      if (stages_ && kind == WorkKind::transfer) {
        // Which came later than exchanges of its own may have ended.
        shares_.bubble += end - begin - exposed_beside(begin, end, &Running::start);
        return;
      }
      if (kind == WorkKind::collective && before && operation(before).kind != WorkKind::wait &&
          operation(before).rank >= 0 && operation(before).rank != rank_) {
        others() += end - begin;
        return;
      }
      op = before;
    }
    if (end > begin)
      shares_.framework += end - begin;
  }

  // Waiting for another rank's kernels: a pipeline's stages work in turn, others side by side.
  Seconds& others() { return stages_ ? shares_.bubble : shares_.straggler; }

  const StepDates& dates_;
  int rank_;
  bool stages_; // the program is a pipeline
  double mean_speed_;
  Seconds told_; // until when
  std::vector<Running> running_;
  std::size_t next_ = 0; // in running_: what ends later
  StepShares shares_;
};

// Of each operation: the last end of kernels that a join before it gathers; 0 where there is none.
// What waits for such a join waits for the slowest of those kernels, whatever exchanges run.
std::vector<Seconds> gathered_ends(const StepDates& dates)
{
  const auto& operations = dates.program().operations;
  std::vector<Seconds> of_join(operations.size()), ends(operations.size());
  for (const int i : dates.order().sequence()) {
    const auto op = static_cast<std::size_t>(i);
    for (const int before : dates.order().before(i)) {
      const auto first = static_cast<std::size_t>(before);
      if (operations[first].kind == WorkKind::join)
        ends[op] = std::max(ends[op], of_join[first]);
      else if (operations[op].kind == WorkKind::join && operations[first].kind == WorkKind::compute)
        of_join[op] = std::max(of_join[op], dates.finished({before}));
    }
    if (operations[op].kind == WorkKind::join)
      of_join[op] = std::max(of_join[op], ends[op]);
  }
  return ends;
}

} // namespace

Seconds StepShares::total() const
{
  Seconds sum = bubble + straggler + input + offload + framework;
  for (const auto& parts : {busy, exposed})
    for (const Seconds part : parts)
      sum += part;
  return sum;
}

void StepShares::add(const StepShares& other, double weight)
{
  for (std::size_t i = 0; i < busy.size(); ++i) {
    busy[i] += weight * other.busy[i];
    exposed[i] += weight * other.exposed[i];
  }
  bubble += weight * other.bubble;
  straggler += weight * other.straggler;
  input += weight * other.input;
  offload += weight * other.offload;
  framework += weight * other.framework;
}

StepShares shares_of(const StepDates& dates, Seconds start, Seconds end,
                     const std::vector<double>& mean_speed)
{
  const Program& program = dates.program();
  std::vector<RankAccount> accounts;
  double devices = 0;
  const bool stages =
      std::any_of(program.operations.begin(), program.operations.end(), [](const Operation& op) {
        return op.kind == WorkKind::transfer && op.phase == Phase::pipeline;
      });
  for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank) {
    accounts.emplace_back(dates, rank, stages, start, mean_speed[static_cast<std::size_t>(rank)]);
    devices += program.ranks[static_cast<std::size_t>(rank)].stands_for;
  }
  const auto& operations = program.operations;
  const bool idles =
      stages || std::any_of(operations.begin(), operations.end(), [](const Operation& op) {
        return op.kind == WorkKind::wait && op.stream == 0;
      });
  for (int i = 0; idles && i < static_cast<int>(operations.size()); ++i)
    if (const Operation& op = operations[static_cast<std::size_t>(i)];
        op.kind == WorkKind::collective)
      for (const int rank : program.groups[static_cast<std::size_t>(op.group)].ranks)
        accounts[static_cast<std::size_t>(rank)].takes_part({i});
  for (RankAccount& account : accounts)
    account.sort_collectives();
  const std::vector<Seconds> others = gathered_ends(dates);
  for (int i = 0; i < static_cast<int>(operations.size()); ++i) {
    const Operation& op = operations[static_cast<std::size_t>(i)];
    if (op.stream != 0)
      continue;
    if (op.kind == WorkKind::collective)
      for (const int rank : program.groups[static_cast<std::size_t>(op.group)].ranks)
        accounts[static_cast<std::size_t>(rank)].follow({i}, others[static_cast<std::size_t>(i)]);
    else
      accounts[static_cast<std::size_t>(op.rank)].follow({i}, others[static_cast<std::size_t>(i)]);
  }
  const OpId last = dates.last();
  StepShares mean;
  for (std::size_t rank = 0; rank < accounts.size(); ++rank) {
    accounts[rank].close(last, end);
    mean.add(accounts[rank].shares(), program.ranks[rank].stands_for / devices);
  }
  return mean;
}

} // namespace foretrain::sim
