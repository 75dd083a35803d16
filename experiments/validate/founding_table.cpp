#include "experiments/validate/founding_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// Rounding leaves a difference of equals a little off.
std::string four_digits(double number)
{
  return fmt::format("{:.4g}", std::abs(number) < 1e-9 ? 0.0 : number);
}

std::string numbers_text(const ClaimVerdict& verdict)
{
  if (!verdict.error.empty())
    return "cannot be predicted";
  if (verdict.claim->order.empty() && !verdict.numbers.empty()) {
    const Range& number = verdict.numbers.front();
    if (!verdict.ranges_known)
      return four_digits(number.median);
    return fmt::format("{:.4g} ({:.4g} to {:.4g})", number.median, number.low, number.high);
  }
  std::string text = fmt::format("{}", fmt::join(verdict.texts, ", "));
  for (std::size_t i = 0; i < verdict.numbers.size(); ++i)
    text += (i == 0 ? "" : ", ") + four_digits(verdict.numbers[i].median);
  return text;
}

std::string published_text(const ClaimSpec& claim)
{
  if (!claim.names.empty())
    return fmt::format("it names {}", fmt::join(claim.names, " or "));
  if (!claim.order.empty()) {
    if (claim.relations.empty())
      return "each is above the next";
    std::string text = "they stand";
    for (const Relation relation : claim.relations)
      text += " _ " + word_of(relation);
    return text + " _";
  }
  if (claim.published && claim.within)
    return fmt::format("{:.4g} within {:.4g} %", *claim.published, 100 * *claim.within);
  if (claim.published)
    return fmt::format("{:.4g} within {:.4g}", *claim.published, *claim.within_points / 100);
  if (claim.at_least && claim.at_most)
    return fmt::format("{:.4g} to {:.4g}", *claim.at_least, *claim.at_most);
  return claim.at_least ? fmt::format("at least {:.4g}", *claim.at_least)
                        : fmt::format("at most {:.4g}", *claim.at_most);
}

const char* inside_text(const ClaimVerdict& verdict)
{
  return !verdict.inside ? "no interval" : *verdict.inside ? "inside" : "outside";
}

std::string row(const ClaimVerdict& verdict, bool markdown)
{
  const ClaimSpec& claim = *verdict.claim;
  const char* const word = verdict.holds ? "holds" : "missed";
  const std::string missing = verdict.holds ? "" : claim.missing;
  if (markdown)
    return fmt::format("| `{}` | {} | \"{}\" | {} | {} | {} | {} | {} |\n", claim.id, claim.says,
                       claim.quote, numbers_text(verdict), published_text(claim), word,
                       inside_text(verdict), missing);
  return fmt::format("{:6}  {}: {}\n        \"{}\"\n        predicted {}; holds if {}; {}{}\n",
                     word, claim.id, claim.says, claim.quote, numbers_text(verdict),
                     published_text(claim), inside_text(verdict),
                     missing.empty() ? "" : "\n        missing: " + missing);
}

std::size_t count(const std::vector<ClaimVerdict>& verdicts,
                  const std::function<bool(const ClaimVerdict&)>& is)
{
  return static_cast<std::size_t>(std::count_if(verdicts.begin(), verdicts.end(), is));
}

struct Totals {
  std::size_t held, inside, with_interval;
  explicit Totals(const std::vector<ClaimVerdict>& verdicts)
      : held(count(verdicts, [](const auto& it) { return it.holds; })),
        inside(count(verdicts, [](const auto& it) { return it.inside.value_or(false); })),
        with_interval(count(verdicts, [](const auto& it) { return it.inside.has_value(); }))
  {
  }
};

} // namespace

std::string claims_table(const std::vector<ClaimVerdict>& verdicts, bool markdown)
{
  std::string text;
  if (markdown)
    text += "| claim | asked | the document | predicted (90 % interval) | holds if | verdict | "
            "published | missing |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ClaimVerdict& verdict : verdicts)
    text += row(verdict, markdown);
  const Totals totals(verdicts);
  const double all = std::max(1.0, static_cast<double>(verdicts.size()));
  text += fmt::format("\n{} of {} claims hold ({:.0f} %); the published value lies inside the "
                      "interval of {} of {} that have one\n",
                      totals.held, verdicts.size(), 100 * static_cast<double>(totals.held) / all,
                      totals.inside, totals.with_interval);
  return text;
}

Json claims_json(const ClaimsFile& file, const std::vector<ClaimVerdict>& verdicts)
{
  Json json = {{"claims_of", file.name},
               {"documents", Json::object()},
               {"claims", Json::array()},
               {"not_asked", Json::array()}};
  for (const auto& [name, title] : file.documents)
    json["documents"][name] = title;
  for (const ClaimVerdict& verdict : verdicts) {
    const ClaimSpec& claim = *verdict.claim;
    Json line = {{"id", claim.id},
                 {"document", claim.document},
                 {"quote", claim.quote},
                 {"says", claim.says},
                 {"predicted", verdict.texts},
                 {"holds_if", published_text(claim)},
                 {"holds", verdict.holds},
                 {"inside", verdict.inside ? Json(*verdict.inside) : Json()}};
    for (const Range& number : verdict.numbers) {
      Json told = {{"median", number.median}};
      if (verdict.ranges_known)
        told.update({{"low", number.low}, {"high", number.high}, {"interval", number.interval}});
      line["predicted"].push_back(std::move(told));
    }
    if (!verdict.holds)
      line["missing"] = claim.missing;
    if (!verdict.error.empty())
      line["error"] = verdict.error;
    json["claims"].push_back(std::move(line));
  }
  for (const NotAsked& it : file.not_asked)
    json["not_asked"].push_back(
        {{"document", it.document}, {"quote", it.quote}, {"says", it.says}, {"reason", it.reason}});
  const Totals totals(verdicts);
  json["held"] = totals.held;
  json["of"] = verdicts.size();
  json["inside"] = totals.inside;
  json["with_interval"] = totals.with_interval;
  return json;
}

} // namespace foretrain::experiments
