// The gate of claims: those that held, and those whose published value lay inside the interval,
// when it was recorded, in gates/NAME.json beside the file. One that no longer does fails.
#pragma once

#include "experiments/validate/claim_verdicts.hpp"

#include <filesystem>

namespace foretrain::experiments {

struct ClaimsGate {
  std::vector<std::string> held;   // ids
  std::vector<std::string> inside; // ids
};

std::filesystem::path claims_gate_path(const ClaimsFile& file);

/// The recorded gate; an empty one if there is no file. Throws ConfigError.
ClaimsGate load_claims_gate(const ClaimsFile& file);

ClaimsGate gate_of(const std::vector<ClaimVerdict>& verdicts);

/// Throws UsageError when the file can't be written.
void write_claims_gate(const ClaimsFile& file, const ClaimsGate& gate);

/// "founding: ID no longer holds" for each claim of `gate` that `now` misses.
std::vector<std::string> lost_claims(const ClaimsGate& gate, const ClaimsGate& now);

template <class V>
void describe(V& v, ClaimsGate& s)
{
  v.format("foretrain.claims-gate/1");
  v.required("held", s.held, "claims that hold");
  v.required("inside", s.inside, "claims whose published value lies inside the interval");
}

} // namespace foretrain::experiments
