#include "experiments/validate/founding.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

namespace foretrain::experiments {

namespace {

void check_document(const std::string& name, const Value& at, const ClaimsFile& file)
{
  std::vector<std::string> names;
  for (const auto& document : file.documents)
    names.push_back(document.first);
  if (std::find(names.begin(), names.end(), name) == names.end())
    at.fail_at("document", "is no document of the file: '" + excerpt(name) + "'",
               suggestion(name, names, "documents"));
}

void check_bounds(const ClaimSpec& claim, const Value& at)
{
  const bool bounded = claim.published || claim.at_least || claim.at_most;
  const int ways =
      (bounded ? 1 : 0) + (claim.order.empty() ? 0 : 1) + (claim.names.empty() ? 0 : 1);
  if (ways != 1)
    at.fail(ways == 0 ? "says nothing to hold" : "says more than one thing to hold",
            "give it published, at_least or at_most; or order; or names");
  if (claim.published && claim.within.has_value() == claim.within_points.has_value())
    at.fail_at("published", "needs within or within_points, one of them");
  if (!claim.published && (claim.within || claim.within_points))
    at.fail("has a tolerance and nothing published");
}

void check_order(const ClaimSpec& claim, const Value& at)
{
  if (claim.order.size() == 1)
    at.fail_at("order", "must hold two numbers at least");
  if (!claim.relations.empty() && claim.relations.size() + 1 != claim.order.size())
    at.fail_at("relations", "must be one for each two neighbours in the order");
}

// A number that leaves out what is told of the claim's needs an experiment in one of the two.
void check_number(const ClaimNumber& number, const ClaimNumber& claim, const Value& at)
{
  const auto& cases = number.each.empty() ? claim.each : number.each;
  const bool told = std::all_of(cases.begin(), cases.end(),
                                [](const ClaimCase& it) { return bool(it.experiment); });
  if (!number.experiment && !claim.experiment && (cases.empty() || !told))
    at.fail("needs an experiment");
}

void check_take(const ClaimNumber& number, const ClaimNumber& claim, const Value& at)
{
  if (!(number.each.empty() && claim.each.empty()) && !number.take && !claim.take)
    at.fail("has several cases", "say what the number is of them: take");
}

void check_claim(const ClaimSpec& claim, const Value& at, const ClaimsFile& file)
{
  check_document(claim.document, at, file);
  check_bounds(claim, at);
  check_order(claim, at);
  if (claim.order.empty())
    check_number(claim.number, claim.number, at);
  if (claim.order.empty() && claim.names.empty())
    check_take(claim.number, claim.number, at);
  for (std::size_t i = 0; i < claim.order.size(); ++i) {
    check_number(claim.order[i], claim.number, at.at("order").at(i));
    check_take(claim.order[i], claim.number, at.at("order").at(i));
  }
}

} // namespace

ClaimsFile load_claims(const std::string& name_or_path)
{
  const Value root = resolve_preset(name_or_path, kClaimsKind);
  auto file = read_as<ClaimsFile>(root);
  file.origin = root;
  for (std::size_t i = 0; i < file.claims.size(); ++i)
    check_claim(file.claims[i], root.at("claims").at(i), file);
  for (std::size_t i = 0; i < file.not_asked.size(); ++i)
    check_document(file.not_asked[i].document, root.at("not_asked").at(i), file);
  return file;
}

} // namespace foretrain::experiments
