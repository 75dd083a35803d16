#include "experiments/validate/founding_gate.hpp"

#include "sim/base/files.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

bool has(const std::vector<std::string>& ids, const std::string& id)
{
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

} // namespace

std::filesystem::path claims_gate_path(const ClaimsFile& file)
{
  const auto& path = file.origin.document()->path;
  return path.parent_path() / "gates" / path.filename();
}

ClaimsGate load_claims_gate(const ClaimsFile& file)
{
  const auto path = claims_gate_path(file);
  if (!std::filesystem::exists(path))
    return {};
  const DocumentPtr document = load_document(path);
  return read_as<ClaimsGate>(Value(document));
}

ClaimsGate gate_of(const std::vector<ClaimVerdict>& verdicts)
{
  ClaimsGate gate;
  for (const ClaimVerdict& verdict : verdicts) {
    if (verdict.holds)
      gate.held.push_back(verdict.claim->id);
    if (verdict.inside.value_or(false))
      gate.inside.push_back(verdict.claim->id);
  }
  return gate;
}

void write_claims_gate(const ClaimsFile& file, const ClaimsGate& gate)
{
  const auto path = claims_gate_path(file);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const Json json = {{"format", "foretrain.claims-gate/1"},
                     {"source", "foretrain validate founding --update-gates"},
                     {"held", gate.held},
                     {"inside", gate.inside}};
  write_file(path.string(), json.dump(2) + "\n");
}

std::vector<std::string> lost_claims(const ClaimsGate& gate, const ClaimsGate& now)
{
  std::vector<std::string> lines;
  for (const std::string& id : gate.held)
    if (!has(now.held, id))
      lines.push_back(fmt::format("founding: {} no longer holds", id));
  for (const std::string& id : gate.inside)
    if (!has(now.inside, id))
      lines.push_back(
          fmt::format("founding: what was published of {} is no longer inside its interval", id));
  return lines;
}

} // namespace foretrain::experiments
