// The ops a network file can use. To add one: a spec with its describe(), a function that emits its
// layers, a line in the table of network_ops.cpp (single layers), network_gates.cpp (factors),
// network_resize.cpp (other sizes and views), network_blocks.cpp (layers that hold layers),
// network_attention.cpp, network_tables.cpp (recommenders) or network_parts.cpp (ends on the way,
// frozen layers, regions).
#pragma once

#include "models/networks/network_builder.hpp"

#include <span>
#include <string>
#include <vector>

namespace foretrain::models {

struct Op {
  const char* name;
  const char* help;
  void (*build)(NetworkBuilder& builder, const Value& at);
  Json (*schema)();
};

std::span<const Op> simple_ops();    // network_ops.cpp
std::span<const Op> gate_ops();      // network_gates.cpp
std::span<const Op> resize_ops();    // network_resize.cpp
std::span<const Op> block_ops();     // network_blocks.cpp
std::span<const Op> attention_ops(); // network_attention.cpp
std::span<const Op> part_ops();      // network_parts.cpp
std::span<const Op> table_ops();     // network_tables.cpp

std::vector<const Op*> all_ops();
/// The op that `word` names; throws with the nearest name.
const Op& find_op(const Value& word);
/// NetworkBuilder::BuildOp over all ops.
void build_op(NetworkBuilder& builder, const Value& word, const Value& item);

/// What every layer may say.
struct CommonSpec {
  std::string op;
  std::string name;
};

template <class V>
void describe_common(V& v, CommonSpec& s)
{
  v.required("op", s.op, "what this layer does");
  v.optional("name", s.name, "how reports call this layer; its op and a number when left out");
}

/// Of layers without keys of their own.
struct PlainSpec : CommonSpec {};

template <class V>
void describe(V& v, PlainSpec& s)
{
  describe_common(v, s);
}

/// Throws unless a name is short and plain.
void check_name(const Value& at, const std::string& name);

/// Applies the file's defaults to a spec before it is read; most ops have none.
template <class Spec>
void take_defaults(const LayerDefaults&, Spec&)
{
}

/// Reads the spec of one op and builds it: the functions of a table row.
template <class Spec, void (*apply)(NetworkBuilder&, const Value&, const Spec&)>
constexpr Op make_op(const char* name, const char* help)
{
  return {name, help,
          [](NetworkBuilder& builder, const Value& at) {
            Spec spec;
            take_defaults(builder.defaults(), spec);
            Reader::read(at, spec, {});
            check_name(at, spec.name);
            apply(builder, at, spec);
          },
          [] { return schema_as<Spec>(); }};
}

} // namespace foretrain::models
