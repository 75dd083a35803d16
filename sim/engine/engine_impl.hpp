// Inside of the engine, shared by engine.cpp and the SimGrid adapter; nobody else includes this.
#pragma once

#include "sim/engine/engine.hpp"

#include <unordered_map>

namespace foretrain::sim {

/// Hundreds of thousands of resources, whose parts have few names.
class ResourceTable {
public:
  void add(const Resource& it)
  {
    const auto [part, added] = numbers_.try_emplace(it.part, static_cast<int>(parts_.size()));
    if (added)
      parts_.push_back(it.part);
    entries_.push_back({it.kind, it.direction, it.node, part->second});
  }
  std::size_t size() const { return entries_.size(); }
  ResourceKind kind(std::size_t i) const { return entries_[i].kind; }
  Resource operator[](std::size_t i) const
  {
    const Entry& it = entries_[i];
    return {it.kind, it.node, parts_[static_cast<std::size_t>(it.part)], it.direction};
  }

private:
  struct Entry {
    ResourceKind kind;
    Direction direction;
    int node;
    int part;
  };
  std::vector<Entry> entries_;
  std::vector<std::string> parts_;
  std::unordered_map<std::string, int> numbers_; // of parts_
};

class Engine::Impl {
public:
  explicit Impl(Sharing sharing);

  // --- what the SimGrid adapter calls -------------------------------------------------------
  /// Date of the next event or flow end, or a negative number when there is none.
  double next_date();
  /// The clock has reached `date`: collects everything that is due.
  void advance(double date);
  bool has_ready() const { return !ready_.empty(); }
  /// Runs the callbacks of what was collected.
  void flush();
  /// The same, and with all that they make due at once: a date is one step of the main loop.
  void run_date();
  /// Native sharing: the flow in this slot has ended.
  void native_ended(int slot, double date);

  struct Slot { // a flow in flight
    FlowSpec spec;
    FlowDone done;
    Seconds started;
    double left = 0;    // progress still to make, as of `updated`
    double updated = 0; // date
    int solver_flow = -1;
    int holder = -1;         // solver's flow that stands for what is held; -1: nothing is
    double held = 0;         // progress that what is held would have allowed, as of held_updated
    double held_updated = 0; // date
    int limiting = MaxMin::kOwnCap; // since `updated`
    unsigned version = 0;
    bool active = false; // past its latency
    std::vector<LimitedBy> limited_by;
  };

  Sharing sharing;
  MaxMin solver;
  ResourceTable resources;
  std::vector<double> consumed;
  std::vector<PathPtr> declared;
  std::vector<Waiting> waiting;
  Engine::Statistics statistics;
  double now = 0;

  void schedule(double date, Callback callback);
  void start(FlowSpec spec, FlowDone done);
  std::vector<std::string> stalled() const;
  void consumed_since(std::vector<double>& before) const;
  Slot& slot(int i) { return slots_[static_cast<std::size_t>(i)]; }
  bool native() const { return sharing == Sharing::native; }

private:
  struct Due {
    double date;
    std::uint64_t sequence;
    int slot;         // >= 0: end of this flow; -1: an event
    unsigned version; // of the slot, or index of the event
    bool operator<(const Due& o) const
    {
      return date != o.date ? date > o.date : sequence > o.sequence;
    }
  };
  struct Ready {
    int slot;       // >= 0: a flow that ended
    Callback event; // otherwise
  };

  void activate(int slot);
  void rate_changed(int slot, double rate);
  void hold(Slot& flow);
  void attribute(Slot& flow);
  void finish(int slot);
  void push(Due due);

  std::vector<Due> due_; // heap
  std::vector<Callback> events_;
  std::vector<unsigned> free_events_;
  std::vector<Slot> slots_;
  std::vector<int> free_slots_;
  std::vector<int> slot_of_flow_; // by flow of the solver
  std::vector<Ready> ready_;
  std::vector<Ready> running_;
  std::uint64_t sequence_ = 0;
};

// --- the adapter (simgrid_adapter.cpp) --------------------------------------------------------
namespace simgrid_adapter {
void run(Engine::Impl& engine);
void start_native(Engine::Impl& engine, int slot);
} // namespace simgrid_adapter

} // namespace foretrain::sim
