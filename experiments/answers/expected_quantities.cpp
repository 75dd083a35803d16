#include "experiments/answers/expected_quantities.hpp"

#include "experiments/run/keep/result_json.hpp"
#include "sim/base/text.hpp"

namespace foretrain::experiments {

namespace {

// Adds what stands at `at` and in it; of lists the first entry.
void add_pointers(const Json& schema, const std::string& at, std::vector<std::string>& pointers)
{
  if (!at.empty())
    pointers.push_back(at);
  if (schema.contains("properties"))
    for (const auto& member : schema.at("properties").items())
      add_pointers(member.value(), at + "/" + member.key(), pointers);
  if (schema.contains("items"))
    add_pointers(schema.at("items"), at + "/0", pointers);
}

// Whether results of the schema may have something there.
bool may_have(const Json& schema, Json::json_pointer at)
{
  const Json* own = &schema;
  std::vector<std::string> keys;
  for (; !at.empty(); at.pop_back())
    keys.insert(keys.begin(), at.back());
  for (const std::string& key : keys) {
    if (own->contains("properties") && own->at("properties").contains(key))
      own = &own->at("properties").at(key);
    else if (own->contains("additionalProperties") && own->at("additionalProperties").is_object())
      own = &own->at("additionalProperties");
    else if (own->contains("items") && key.find_first_not_of("0123456789") == std::string::npos)
      own = &own->at("items");
    else
      return !own->contains("type"); // any JSON
  }
  return true;
}

} // namespace

void check_expected_quantities(const LoadedExperiment& experiment)
{
  const auto& expectations = experiment.spec.expect;
  if (expectations.empty())
    return;
  const Json schema = schema_as<JobResult>();
  for (std::size_t i = 0; i < expectations.size(); ++i) {
    const std::string& quantity = expectations[i].quantity;
    if (may_have(schema, Json::json_pointer(quantity)))
      continue;
    std::vector<std::string> pointers;
    add_pointers(schema, "", pointers);
    const Value root(experiment.document);
    root.at("expect")
        .at(i)
        .at("quantity")
        .fail("is not in a job's results: '" + excerpt(quantity) + "'",
              suggestion(quantity, pointers, "quantities"));
  }
}

} // namespace foretrain::experiments
