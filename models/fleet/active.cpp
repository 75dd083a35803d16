#include "models/fleet/active.hpp"

#include <algorithm>
#include <limits>

namespace foretrain::models::fleet {

double Active::work_by(Seconds now) const
{
  const double since_then =
      runs() ? std::max(0.0, (now - std::max(since, ready)).value()) * rate.work : 0;
  return progress.work() + since_then;
}

double Active::attained_by(Seconds now, int gpus) const
{
  return attained + (runs() ? (now - started).value() * gpus : 0);
}

void Active::begin(Seconds now, Seconds works_from, bool reads, const Job& job)
{
  started = since = now;
  ready = works_from;
  holds = true;
  rate = {};
  transfer = Transfer::none;
  to_restore = 0;
  met.clear();
  unread = reads ? job.first_pass.work.value() : 0;
  first_pass = unread > 0;
}

void Active::pass_until(Seconds now, const Job& job, const Checkpointing& checkpointing)
{
  if (now > since) {
    const Seconds from = std::min(now, std::max(since, ready));
    restarting += (from - since).value();
    const double before = progress.work(), passed = (now - from).value();
    if (restores()) {
      restarting += passed;
      to_restore -= passed * rate.transfer;
    } else if (now > from) {
      advance(progress, passed, {rate.work, first_pass ? job.first_pass.rate : 1, rate.transfer},
              checkpointing);
    }
    unread -= progress.work() - before;
  }
  since = now;
}

void Active::turn(const Checkpointing& checkpointing)
{
  if (transfer == Transfer::read) {
    transfer = Transfer::none;
    to_restore = 0;
  } else if (to_restore > 0) {
    transfer = Transfer::read;
  } else {
    if (writing_now(progress, checkpointing) == transfer) // but for rounding
      fleet::turn(progress, transfer, checkpointing);
    transfer = writing_now(progress, checkpointing);
  }
}

NextTurn Active::next(const Job& job, const Checkpointing& checkpointing) const
{
  const Seconds from = std::max(since, ready);
  if (restores())
    return {Turn::transfer, transfer == Transfer::read
                                ? from + Seconds(std::max(0.0, to_restore) / rate.transfer)
                                : from};
  const double done = progress.work(), work = job.work.value();
  const double read = done + std::max(0.0, unread);
  const bool reads_on = first_pass && read < work;
  const double until = reads_on ? read : work;
  const Turn then = reads_on ? Turn::data_read : Turn::finished;
  if (!checkpointing.felt)
    return {then, from + Seconds(time_to(progress, until, rate.work, checkpointing))};
  const double busy = transfer == Transfer::write_alone ? std::numeric_limits<double>::infinity()
                                                        : std::max(0.0, until - done) / rate.work;
  const double left = until_turn(progress, {rate.work, 1, rate.transfer}, checkpointing);
  return left < busy ? NextTurn{Turn::transfer, from + Seconds(left)}
                     : NextTurn{then, from + Seconds(busy)};
}

} // namespace foretrain::models::fleet
