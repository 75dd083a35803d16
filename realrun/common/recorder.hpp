// Collects samples while a run goes on: one series per name and label set, one list per repetition.
#pragma once

#include "sim/base/document.hpp"

#include <map>
#include <string>
#include <vector>

namespace foretrain::realrun {

struct Series {
  std::string name;
  std::string unit; // "s", "byte/s", "flop/s", ...
  Json labels = Json::object();
  std::vector<std::vector<double>> repetitions;
};

class Recorder {
public:
  /// Samples added from now on belong to a new repetition.
  void next_repetition() { ++repetition_; }

  void add(const std::string& name, const std::string& unit, double sample,
           const Json& labels = Json::object());

  const std::vector<Series>& series() const { return series_; }
  /// Appends series that were collected elsewhere (by another rank).
  void append(const std::vector<Series>& others);

private:
  std::vector<Series> series_;
  std::map<std::string, std::size_t> index_;
  std::size_t repetition_ = 0; // 0: before the first call of next_repetition()
};

/// At most `limit` evenly spaced samples of each repetition; 0 keeps all.
Series thinned(const Series& series, std::size_t limit);

/// One series as text and back, to send it between ranks.
std::string pack(const std::vector<Series>& series);
std::vector<Series> unpack(const std::string& text);

} // namespace foretrain::realrun
