// When each operation of one step began and ended, and what it had waited for.
#pragma once

#include "sim/workload/work_order.hpp"

#include <vector>

namespace foretrain::sim {

class StepDates {
public:
  /// Program and order must outlive this.
  StepDates(const Program& program, const WorkOrder& order)
      : program_(program), order_(order), begin_(program.operations.size()),
        end_(program.operations.size())
  {
  }

  void set(OpId op, Seconds begin, Seconds end)
  {
    begin_[index(op)] = begin;
    end_[index(op)] = end;
  }

  /// An operation begins when all that it waits for has ended.
  Seconds started(OpId op) const { return begin_[index(op)]; }
  Seconds finished(OpId op) const { return end_[index(op)]; }
  /// What it waited for the longest: the operation that ended last before it began; none where it
  /// began with the step.
  OpId released_by(OpId op) const;

  /// When one of a collective's ranks had come to it: the end of what only this rank had to do
  /// before; the collective's own begin where that is not known.
  Seconds arrived(OpId collective, int rank) const;

  /// The one that ended last, of several the last one written.
  OpId last() const;

  const Program& program() const { return program_; }
  const WorkOrder& order() const { return order_; }

private:
  static std::size_t index(OpId op) { return static_cast<std::size_t>(op.value); }

  const Program& program_;
  const WorkOrder& order_;
  std::vector<Seconds> begin_, end_;
};

/// Dates of a step that begins at `start` where every operation takes what it takes by itself,
/// `lengths`, one for each: the longest path through the program.
void evaluate(const std::vector<Seconds>& lengths, Seconds start, StepDates& dates);

} // namespace foretrain::sim
