// The numbers of a fleet's answer by name: what its tables, comparisons and goals are made of.
#pragma once

#include "experiments/fleet/fleet_answer.hpp"

#include <span>
#include <string>

namespace foretrain::experiments {

enum class FleetUnit { time, number, share, gpu_hours, amount };

struct FleetQuantity {
  const char* pointer; // into the answer (docs/fleet.md)
  const char* name;    // for people
  FleetUnit unit;
  const Range* (*of)(const FleetAnswer& answer); // null where the answer has none

  /// "wait_s_p90": as a column of a table for programs.
  std::string column() const;
};

/// All of them, in the order of the answer.
std::span<const FleetQuantity> fleet_quantities();

/// The one at a pointer into the answer. Throws std::logic_error.
const FleetQuantity& fleet_quantity(const std::string& pointer);

/// Its name for people; of costs with the currency, where there is one: "cost, EUR".
std::string quantity_name(const FleetQuantity& quantity, const std::string& currency);

/// Its value for people: "2.5 h", "12.5 %".
std::string quantity_text(const FleetQuantity& quantity, double value);
/// The same with its sign; of shares in percentage points.
std::string quantity_change(const FleetQuantity& quantity, double value);
/// The median, and the ends where they differ from it: "2.5 h (2 h to 3.1 h)".
std::string quantity_range(const FleetQuantity& quantity, const Range& range);

} // namespace foretrain::experiments
