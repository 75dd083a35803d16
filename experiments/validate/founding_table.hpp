// Claims and what became of them, for terminals, documents and programs.
#pragma once

#include "experiments/validate/claim_verdicts.hpp"

namespace foretrain::experiments {

/// A table for terminals or, with `markdown`, for documents; at the end how many claims hold, and
/// how many published values lie inside the interval.
std::string claims_table(const std::vector<ClaimVerdict>& verdicts, bool markdown);
Json claims_json(const ClaimsFile& file, const std::vector<ClaimVerdict>& verdicts);

} // namespace foretrain::experiments
