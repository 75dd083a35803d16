#include "models/traces/recorded_timeline.hpp"

#include "models/traces/recorded_step.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain::models {

namespace {

constexpr double kSame = 2e-6;           // resolution of traces and what comes between two kernels
constexpr double kMoment = 0.5e-6;       // half of what old traces resolve
constexpr double kHeld = 20e-6;          // a call that lasts longer waited for the device
constexpr double kOwnPiece = 50e-6;      // idle time that is kept where it was
constexpr double kOwnShare = 0.005;      // ... and at least this share of the step
constexpr double kHostBoundPiece = 0.15; // as of stretches (recorded_step.cpp)

// What the device does from one moment to the next.
struct Segment {
  double start = 0, finish = 0;
  KernelClass kind = KernelClass::memory; // copy: over the bus
  bool idle = false;
  int kernels = 0;
  std::string phase;
  std::vector<int> after; // exchanges
};

const char* phase_name(TrainingPhase phase)
{
  return phase == TrainingPhase::forward    ? "forward"
         : phase == TrainingPhase::backward ? "backward"
                                            : "optimizer";
}

class LineCutter {
public:
  LineCutter(const Trace& trace, const TraceStep& step,
             const std::vector<RecordedExchange>& exchanges)
      : trace_(trace), step_(step), exchanges_(exchanges), waited_(exchanges.size(), false)
  {
    for (const RecordedExchange& exchange : exchanges)
      running_.push_back({exchange.start, exchange.finish});
    running_ = merged(std::move(running_));
    cursor_ = window_of(step).start;
    finish_ = window_of(step).finish;
    begin_ = cursor_;
    read_calls();
  }

  MeasuredLine cut()
  {
    for (const StepWork& item : step_.work)
      if (trace_.work[item.index].kind != KernelClass::collective)
        put(item);
    add_gap(finish_, -1e300, "host");
    wait_for_hidden();
    return line();
  }

private:
  // Calls that held a thread until the device was done, and those that let a stream wait.
  void read_calls()
  {
    for (const Call& call : trace_.calls) {
      if (call.finish < step_.host_start || call.start > step_.host_finish)
        continue;
      const std::string& name = trace_.name_of(call.name);
      if (call.finish - call.start > kHeld && (name.find("Synchronize") != std::string::npos ||
                                               name.find("Memcpy") != std::string::npos))
        held_.push_back({call.start, call.finish});
      else if (name.find("StreamWaitEvent") != std::string::npos)
        stream_waits_.push_back(call.start);
    }
    std::sort(stream_waits_.begin(), stream_waits_.end());
  }

  KernelClass kind_of(const DeviceWork& work) const
  {
    return work.kind != KernelClass::copy || copies_over_the_bus(trace_, work)
               ? work.kind
               : KernelClass::memory;
  }

  void put(const StepWork& item)
  {
    const DeviceWork& work = trace_.work[item.index];
    const double last = step_.followed ? step_.finish : work.finish;
    const double start = std::min(work.start, last);
    const double finish = std::min(work.finish, last);
    const std::string phase = phase_name(item.phase);
    if (start > cursor_)
      add_gap(start, call_of(trace_, work) == nullptr ? -1e300 : item.launched, phase);
    const double begin = std::max(start, cursor_);
    if (finish > begin)
      segments_.push_back({begin, finish, kind_of(work), false, 1, phase, {}});
    else if (!segments_.empty())
      ++segments_.back().kernels;
    cursor_ = std::max(cursor_, finish);
  }

  bool held_by(const RecordedExchange& exchange) const
  {
    return std::any_of(held_.begin(), held_.end(), [&](const Span& call) {
      return call.start < exchange.finish && call.finish > exchange.finish - kSame;
    });
  }

  void add_idle(double from, double to, const std::string& phase)
  {
    if (to > from)
      segments_.push_back({from, to, KernelClass::memory, true, 0, phase, {}});
  }

  // The device does nothing until `until`, when work that was launched at `launched` begins; work
  // whose launch is unknown counts as launched before.
  void add_gap(double until, double launched, const std::string& phase)
  {
    Segment wait{cursor_, cursor_, KernelClass::memory, true, 0, phase, {}};
    for (std::size_t e = 0; e < exchanges_.size(); ++e) {
      const RecordedExchange& exchange = exchanges_[e];
      if (exchange.finish > cursor_ && exchange.finish <= until + kSame &&
          (launched < exchange.finish || held_by(exchange))) {
        wait.after.push_back(static_cast<int>(e));
        waited_[e] = true;
        wait.start = wait.finish = std::max(wait.start, std::min(until, exchange.finish));
      }
    }
    for (const Span& span : running_) { // what no exchange explains is the rank's own
      if (span.finish <= cursor_ || span.start >= wait.start)
        continue;
      add_idle(cursor_, span.start, phase);
      cursor_ = std::max(cursor_, std::min(span.finish, wait.start));
    }
    add_idle(cursor_, wait.start, phase);
    const double from = std::max(cursor_, wait.start);
    if (!wait.after.empty())
      segments_.push_back(std::move(wait));
    add_idle(from, until, phase);
    cursor_ = std::max(cursor_, until);
  }

  // The first kernel after an exchange that the rank had reason to hold back for it.
  void wait_for_hidden()
  {
    for (std::size_t e = 0; e < exchanges_.size(); ++e) {
      if (waited_[e])
        continue;
      const RecordedExchange& exchange = exchanges_[e];
      const auto wait =
          std::upper_bound(stream_waits_.begin(), stream_waits_.end(), exchange.launched);
      const bool told = wait != stream_waits_.end();
      const auto first =
          std::find_if(step_.work.begin(), step_.work.end(), [&](const StepWork& item) {
            const DeviceWork& work = trace_.work[item.index];
            return work.kind != KernelClass::collective && work.start >= exchange.finish &&
                   (told ? item.launched >= *wait
                         : exchange.phase != TrainingPhase::backward ||
                               item.phase == TrainingPhase::optimizer);
          });
      if (first == step_.work.end())
        continue;
      const double at = trace_.work[first->index].start;
      if (at >= finish_)
        continue;
      segments_.push_back(
          {at, at, KernelClass::memory, true, 0, phase_name(first->phase), {static_cast<int>(e)}});
    }
    std::stable_sort(segments_.begin(), segments_.end(), [](const Segment& a, const Segment& b) {
      return a.start < b.start || (a.start == b.start && a.finish < b.finish);
    });
  }

  MeasuredLine line()
  {
    own_ = std::max(kOwnPiece, kOwnShare * (finish_ - begin_));
    std::size_t next = 0;
    const auto start_until = [&](double time) {
      for (; next < exchanges_.size() && exchanges_[next].released <= time + kMoment; ++next)
        start(static_cast<int>(next));
    };
    for (Segment& segment : segments_) {
      start_until(segment.start);
      // Where an exchange is released within, the segment is cut.
      while (next < exchanges_.size() && exchanges_[next].released < segment.finish - kMoment &&
             exchanges_[next].released > segment.start + kMoment) {
        Segment head = segment;
        head.finish = segment.start = exchanges_[next].released;
        segment.after.clear();
        segment.kernels = std::max(0, segment.kernels - 1);
        add(head);
        start_until(head.finish);
      }
      add(segment);
    }
    start_until(1e300);
    for (MeasuredPiece& piece : line_.pieces) {
      const MeasuredStretch& work = piece.work;
      piece.work.host_bound =
          work.kernels > 3 &&
          work.idle > kHostBoundPiece * (work.product + work.memory + work.idle);
    }
    for (const auto& [piece, time] : copied_)
      line_.pieces[piece].work.idle += Seconds(time);
    return std::move(line_);
  }

  void start(int exchange)
  {
    if (line_.pieces.empty())
      line_.pieces.emplace_back();
    line_.pieces.back().starts.push_back(exchange);
    started_ = exchange + 1;
  }

  void add(const Segment& segment)
  {
    const double time = segment.finish - segment.start;
    const MeasuredPiece* last = line_.pieces.empty() ? nullptr : &line_.pieces.back();
    const bool busy = last != nullptr && last->work.product + last->work.memory > Seconds(0);
    if (last == nullptr || last->phase != segment.phase || !last->starts.empty() ||
        !segment.after.empty() || (segment.idle && busy && time > own_)) {
      line_.pieces.emplace_back();
      line_.pieces.back().phase = segment.phase;
    }
    MeasuredPiece& piece = line_.pieces.back();
    for (const int exchange : segment.after)
      if (exchange < started_) // an exchange that ended in the step before is none of this one's
        piece.after.push_back(exchange);
    piece.work.kernels += segment.kernels;
    if (segment.kind == KernelClass::copy) {
      copied_.emplace_back(line_.pieces.size() - 1, time);
      return;
    }
    (segment.idle                           ? piece.work.idle
     : segment.kind == KernelClass::product ? piece.work.product
                                            : piece.work.memory) += Seconds(time);
  }

  const Trace& trace_;
  const TraceStep& step_;
  const std::vector<RecordedExchange>& exchanges_;
  std::vector<bool> waited_;
  std::vector<Span> running_, held_;
  std::vector<double> stream_waits_;
  std::vector<Segment> segments_;
  MeasuredLine line_;
  std::vector<std::pair<std::size_t, double>> copied_; // of a piece: time of copies over the bus
  double begin_ = 0, finish_ = 0, cursor_ = 0, own_ = 0;
  int started_ = 0; // exchanges of the line so far
};

} // namespace

MeasuredLine cut_line(const Trace& trace, const TraceStep& step,
                      const std::vector<RecordedExchange>& exchanges)
{
  return LineCutter(trace, step, exchanges).cut();
}

std::vector<MeasuredExchange> measured_exchanges(const std::vector<RecordedExchange>& exchanges,
                                                 int world)
{
  std::vector<MeasuredExchange> list;
  for (const RecordedExchange& exchange : exchanges) {
    const bool all = exchange.group >= world;
    list.push_back({exchange.kind, Bytes(exchange.bytes), all ? 0 : exchange.group,
                    all ? 1 : exchange.stride, Seconds(exchange.waited)});
  }
  return list;
}

} // namespace foretrain::models
