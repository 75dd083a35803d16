// The passing of time: resources, flows over them, and dated events, in (date, sequence) order.
//
// SimGrid holds the clock and the main loop. Flows are shared either by our model plugged into it
// (Sharing::plugged, the default) or by SimGrid's own network model (Sharing::native, the oracle
// for tests: whole-number weights only). Callbacks run between SimGrid's updates, never inside one,
// in the order in which they became due; same input, same order, same bits.
#pragma once

#include "sim/engine/path.hpp"
#include "sim/engine/resource.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain::sim {

enum class Sharing {
  plugged,      // our weighted max-min model, incremental
  plugged_full, // the same, re-solving whole connected components: a debug switch
  native,       // SimGrid's CM02 network model
};

struct ResourceId {
  int value = -1;
  auto operator<=>(const ResourceId&) const = default;
};

/// Time a flow spent limited by one resource (MaxMin::kOwnCap: by its own cap).
struct LimitedBy {
  int resource;
  Seconds time;
};

struct FlowRecord {
  Seconds start; // when it was started, before its latency
  Seconds finish;
  const std::vector<LimitedBy>* limited_by; // empty with Sharing::native
};

struct FlowSpec {
  PathPtr path;
  double amount = 0; // units of progress; 0 costs the latency only
  double priority = 1;
  const char* what = "flow"; // for stall messages; must outlive the flow
};

class Engine {
public:
  using Callback = std::function<void()>;
  using FlowDone = std::function<void(const FlowRecord&)>;

  explicit Engine(Sharing sharing = Sharing::plugged);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// capacity in units per second, >= 0.
  ResourceId add_resource(const Resource& what, double capacity);
  /// One of no kind.
  ResourceId add_resource(std::string_view name, double capacity)
  {
    return add_resource(Resource{ResourceKind::other, -1, std::string(name)}, capacity);
  }
  void set_capacity(ResourceId resource, double capacity);
  double capacity(ResourceId resource) const;
  Resource resource(ResourceId resource) const;
  ResourceKind kind(ResourceId resource) const;
  std::string name(ResourceId resource) const; // of `resource`
  int resource_count() const;
  /// Units that completed flows took from the resource so far, and what was charged to it.
  double consumed(ResourceId resource) const;
  /// Makes of what each resource had given before (none: nothing) what it has given since, with
  /// what flows under way took until now (native sharing: without).
  void consumed_since(std::vector<double>& before) const;
  /// Counts so much progress on a path as consumed that took place without being simulated.
  void charge(const Path& path, double amount);

  Seconds now() const;
  void at(Seconds date, Callback callback); // date >= now()
  void after(Seconds delay, Callback callback);

  /// Native sharing needs to know each path before run(); plugged sharing ignores this.
  void declare(const PathPtr& path);
  void start(FlowSpec flow, FlowDone done);

  /// Something that must have ended when run() returns; what() of the StallError lists it if not.
  using Waiting = std::function<std::vector<std::string>()>;
  void expect_end(Waiting waiting);

  /// Runs until nothing is left to happen. Throws StallError when flows cannot finish or an
  /// expect_end() list is not empty.
  void run();

  struct Statistics {
    std::uint64_t events = 0;
    std::uint64_t flows = 0;
  };
  Statistics statistics() const;

  class Impl;

private:
  std::unique_ptr<Impl> impl_;
};

} // namespace foretrain::sim
