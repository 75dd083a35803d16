// One event of a Chrome trace while it is read, and what becomes of it.
#pragma once

#include "models/traces/trace.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>

namespace foretrain::models {

enum class EventKey { phase, category, name, process, thread, time, duration, args, other };
EventKey event_key(const std::string& key);

enum class ArgumentKey {
  correlation,
  device,
  stream,
  bytes,
  grid,
  block,
  dims,
  type,
  in_elements,
  out_elements,
  group,
  data_type,
  collective,
  members,
  source,
  destination,
  other
};
ArgumentKey argument_key(const std::string& key);

struct RawEvent {
  std::string phase, category, name, type, data_type, collective, members;
  double time = std::numeric_limits<double>::quiet_NaN();     // us
  double duration = std::numeric_limits<double>::quiet_NaN(); // us
  double process = -1, thread = -1;
  double correlation = -1, device = -1, stream = -1, bytes = 0;
  double in_elements = 0, out_elements = 0, group = 0;
  double source = -1, destination = -1; // ranks
  std::array<double, 3> grid{1, 1, 1}, block{1, 1, 1};
  int axis = 0; // of grid or block
  double dims = 0;
  double leading = 0;
  bool dims_done = false; // the first tensor's

  void text(EventKey key, const std::string& value);
  void number(EventKey key, double value);
  void argument(ArgumentKey key, const std::string& value, int depth);
  void argument(ArgumentKey key, double value, int depth);
  void open_list(ArgumentKey key, int depth);
  void close_list(ArgumentKey key, int depth);
};

/// A number of a file as a whole one; what none of the type holds becomes the nearest.
inline int whole(double value)
{
  return static_cast<int>(std::clamp(value, -2147483648.0, 2147483647.0));
}
inline std::int64_t long_whole(double value)
{
  constexpr double kMost = 9007199254740992.0; // exact as a double
  return static_cast<std::int64_t>(std::clamp(value, -kMost, kMost));
}

/// Keeps of each event what a Trace needs.
class EventSink {
public:
  /// Names of the trace stay as they are.
  explicit EventSink(Trace& trace);
  void take(const RawEvent& event);
  void device(int id, const std::string& name);
  void distributed(const std::string& key, double value);
  void finish();

private:
  std::uint32_t intern(const std::string& name);
  void take_work(const RawEvent& event, double start, double finish);
  void take_message(const RawEvent& event, double start);

  Trace& trace_;
  std::unordered_map<std::string, std::uint32_t> known_;
  double origin_ = std::numeric_limits<double>::quiet_NaN();
  std::size_t wrong_times_ = 0;
};

} // namespace foretrain::models
