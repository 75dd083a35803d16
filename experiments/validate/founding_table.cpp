// The table of claims.
#include "experiments/validate/founding.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

std::string numbers_text(const ClaimVerdict& verdict)
{
  if (!verdict.error.empty())
    return "cannot be predicted";
  std::string text;
  for (const double number : verdict.numbers)
    text += (text.empty()           ? ""
             : verdict.claim->order ? " > "
                                    : ", ") +
            fmt::format("{:.4g}", number);
  return text;
}

std::string published_text(const ClaimSpec& claim)
{
  if (claim.order)
    return "in this order";
  if (claim.published)
    return fmt::format("{:.4g} within {:.0f} %", *claim.published, 100 * claim.within);
  if (claim.at_least && claim.at_most)
    return fmt::format("{:.4g} to {:.4g}", *claim.at_least, *claim.at_most);
  return claim.at_least ? fmt::format("at least {:.4g}", *claim.at_least)
                        : fmt::format("at most {:.4g}", *claim.at_most);
}

} // namespace

std::string claims_table(const std::vector<ClaimVerdict>& verdicts, bool markdown)
{
  std::string text;
  std::size_t held = 0;
  if (markdown)
    text += "| claim | says | predicted | holds if | verdict | cause |\n"
            "| --- | --- | --- | --- | --- | --- |\n";
  for (const ClaimVerdict& verdict : verdicts) {
    const ClaimSpec& claim = *verdict.claim;
    held += verdict.holds ? 1U : 0U;
    const char* const word = verdict.holds ? "holds" : "missed";
    if (markdown)
      text +=
          fmt::format("| {} `{}` | {} | {} | {} | {} | {} |\n", claim.section, claim.id, claim.says,
                      numbers_text(verdict), published_text(claim), word, claim.cause);
    else
      text +=
          fmt::format("{:6}  {} {}: {}\n        predicted {}; holds if {}{}\n", word, claim.section,
                      claim.id, claim.says, numbers_text(verdict), published_text(claim),
                      verdict.holds || claim.cause.empty() ? "" : "; " + claim.cause);
  }
  text += fmt::format("\n{} of {} claims hold ({:.0f} %)\n", held, verdicts.size(),
                      verdicts.empty() ? 0.0
                                       : 100.0 * static_cast<double>(held) /
                                             static_cast<double>(verdicts.size()));
  return text;
}

Json claims_json(const ClaimsFile& file, const std::vector<ClaimVerdict>& verdicts)
{
  Json json = {{"claims_of", file.name}, {"claims", Json::array()}};
  std::size_t held = 0;
  for (const ClaimVerdict& verdict : verdicts) {
    const ClaimSpec& claim = *verdict.claim;
    Json line = {{"id", claim.id},
                 {"section", claim.section},
                 {"says", claim.says},
                 {"predicted", verdict.numbers},
                 {"holds_if", published_text(claim)},
                 {"holds", verdict.holds},
                 {"cause", claim.cause}};
    if (!verdict.error.empty())
      line["error"] = verdict.error;
    json["claims"].push_back(std::move(line));
    held += verdict.holds ? 1U : 0U;
  }
  json["held"] = held;
  json["of"] = verdicts.size();
  return json;
}

} // namespace foretrain::experiments
