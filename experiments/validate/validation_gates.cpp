#include "experiments/validate/validation_gates.hpp"

#include "sim/base/files.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

double with_margin(double error)
{
  const double margin = std::min(0.02, 0.005 + 0.05 * error);
  return std::ceil((error + margin) * 1000 - 1e-6) / 1000;
}

} // namespace

std::filesystem::path gates_path(const SuiteSpec& suite)
{
  const auto& path = suite.origin.document()->path;
  return path.parent_path() / "gates" / path.filename();
}

GatesSpec load_gates(const SuiteSpec& suite)
{
  const auto path = gates_path(suite);
  if (!std::filesystem::exists(path))
    return {};
  const DocumentPtr document = load_document(path);
  return read_as<GatesSpec>(Value(document));
}

Gate gate_for(const std::string& regime, const ErrorSummary& errors)
{
  return {regime, with_margin(errors.mean), with_margin(errors.maximum)};
}

void write_gates(const SuiteSpec& suite, const GatesSpec& gates)
{
  const auto path = gates_path(suite);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::string out =
      "{\n  \"format\": \"foretrain.gates/1\",\n  \"source\": \"foretrain validate "
      "--update-gates: the error of that day and a margin of 5 % of it and half a point, at "
      "most two points\",\n  \"gates\": [";
  for (std::size_t i = 0; i < gates.gates.size(); ++i)
    out += fmt::format("{}\n    {{ \"regime\": \"{}\", \"mean\": {:.3f}, \"max\": {:.3f} }}",
                       i == 0 ? "" : ",", gates.gates[i].regime, gates.gates[i].mean,
                       gates.gates[i].maximum);
  write_file(path.string(), out + "\n  ]\n}\n");
}

std::vector<std::string> passed_gates(const Gate& gate, const ErrorSummary& errors)
{
  std::vector<std::string> lines;
  if (errors.mean > gate.mean)
    lines.push_back(fmt::format("{}: mean error {:.1f} % is above its gate of {:.1f} %",
                                gate.regime, 100 * errors.mean, 100 * gate.mean));
  if (errors.maximum > gate.maximum)
    lines.push_back(fmt::format("{}: error {:.1f} % of {} is above its gate of {:.1f} %",
                                gate.regime, 100 * errors.maximum, errors.worst,
                                100 * gate.maximum));
  return lines;
}

} // namespace foretrain::experiments
