#include "experiments/validate/validation_text.hpp"

#include "sim/base/json_text.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::string percent(const Json& entry, const char* pointer)
{
  const auto share = number_at(entry, pointer);
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string part_of(const Json& entry, const char* part, const char* whole)
{
  const auto some = number_at(entry, part);
  const auto all = number_at(entry, whole);
  return some && all ? fmt::format("{:.0f} of {:.0f}", *some, *all) : "-";
}

std::string gate_text(const Json& entry)
{
  if (!number_at(entry, "/gate/mean"))
    return "-";
  return fmt::format("{} {:.1f} / {:.1f} %",
                     entry.at("gate").at("held").get<bool>() ? "<" : "EXCEEDS",
                     100 * *number_at(entry, "/gate/mean"), 100 * *number_at(entry, "/gate/max"));
}

} // namespace

std::string signed_percent(double share)
{
  return fmt::format("{:+.1f} %", 100 * share);
}

SummaryText summary_text(const Json& entry)
{
  SummaryText text;
  text.rows = fmt::format("{:.0f}", number_at(entry, "/rows").value_or(0));
  text.mean = percent(entry, "/mean");
  text.maximum = percent(entry, "/max");
  const auto bias = number_at(entry, "/bias");
  text.bias = bias ? signed_percent(*bias) : "-";
  text.ratios = "-";
  if (const auto mean = number_at(entry, "/ratios/mean"))
    text.ratios = fmt::format("{:.1f} / {:.1f} % ({:.0f})", 100 * *mean,
                              100 * number_at(entry, "/ratios/max").value_or(0),
                              number_at(entry, "/ratios/rows").value_or(0));
  text.order = part_of(entry, "/rankings/right", "/rankings/pairs");
  text.covered = part_of(entry, "/coverage/inside", "/coverage/rows");
  text.gate = gate_text(entry);
  return text;
}

} // namespace foretrain::experiments
