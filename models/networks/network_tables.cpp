// Ops of recommenders: embedding tables that the GPUs of a job divide among themselves, and what
// is made of the rows looked up.
#include "models/networks/network_ops.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace foretrain::models {

namespace {

using Form = Shape::Form;

struct TablesSpec : CommonSpec {
  int hidden = 0;
  std::vector<int> rows;
  std::vector<int> lookups; // empty: one in each
  Value beside;
};

template <class V>
void describe(V& v, TablesSpec& s)
{
  describe_common(v, s);
  v.required("hidden", s.hidden, "length of a row", between(1, kMaxDimension));
  v.required("rows", s.rows, "of each table", between(1, 2e9));
  v.optional("lookups", s.lookups,
             "rows of each table that a sample looks up, which are added; default 1",
             between(1, 1e6));
  v.optional("main", s.beside,
             "layers from the input to a vector of `hidden` features, while rows are on their way");
}

void tables(NetworkBuilder& builder, const Value& at, const TablesSpec& s)
{
  builder.need(at, {Form::vector});
  if (s.rows.empty())
    at.fail_at("rows", "names no table");
  if (!s.lookups.empty() && s.lookups.size() != s.rows.size())
    at.fail_at("lookups",
               fmt::format("has {} numbers for {} tables", s.lookups.size(), s.rows.size()));
  const auto count = static_cast<std::int64_t>(s.rows.size());
  std::vector<TableSize> told;
  for (std::size_t i = 0; i < s.rows.size(); ++i)
    told.push_back({s.rows[i], s.lookups.empty() ? 1 : s.lookups[i]});
  const NetworkBuilder::Scope scope(builder, s.name);
  const Shape in = builder.shape();
  builder.emit(at, "tables", "", tables_layer(std::move(told), s.hidden));
  const Shape beside = s.beside ? builder.walk_path(in, s.beside, false) : in;
  if (beside != Shape::vector(s.hidden))
    at.fail(fmt::format("needs a vector of {} features beside the rows, got {}", s.hidden,
                        beside.text()),
            "\"main\" makes one of the input");
  builder.emit(at, "gather", "", gathered_layer(Shape::sequence(count + 1, s.hidden)));
}

// Products of every two tokens, and the first one as it is.
void interact(NetworkBuilder& builder, const Value& at, const PlainSpec& s)
{
  builder.need(at, {Form::sequence}, "put \"tables\" before it");
  builder.emit(at, s.op, s.name, interaction_layer(builder.shape()));
}

constexpr Op kTableOps[] = {
    make_op<TablesSpec, &tables>(
        "tables", "embedding tables that the ranks divide among themselves: rows, added where "
                  "there are several, come from all of them and stand beside the input"),
    make_op<PlainSpec, &interact>("interact",
                                  "inner products of every two tokens, beside the first token"),
};

} // namespace

std::span<const Op> table_ops()
{
  return kTableOps;
}

} // namespace foretrain::models
