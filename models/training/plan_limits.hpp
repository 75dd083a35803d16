// Ways to divide a large model that a framework's program has.
#pragma once

#include "sim/base/schema.hpp"

#include <string>
#include <vector>

namespace foretrain::models {

/// Of whoever tells none, all.
struct PlanLimits {
  std::vector<int> zero{1, 2, 3};
  int zero_in_pipeline = 3;            // the highest of them with stages
  std::vector<int> zero_of_node{1, 3}; // those whose shards may be of a node
  std::vector<std::string> schedules{"gpipe",       "1f1b", "interleaved",
                                     "zero-bubble", "zb-v", "dualpipe-v"};
  bool tensor = true;
  bool context_rings = true; // GPUs that share a sequence pass keys and values on,
  bool context_heads = true; // or turn tokens into heads
};

template <class V>
void describe(V& v, PlanLimits& s)
{
  v.optional("zero", s.zero, "stages of ZeRO", between(1, 3));
  v.optional("zero_in_pipeline", s.zero_in_pipeline, "the highest one with pipeline stages",
             between(0, 3));
  v.optional("zero_of_node", s.zero_of_node, "those whose shards may be of a node's ranks",
             between(1, 3));
  v.optional("schedules", s.schedules, "of pipelines; []: it has no pipeline stages",
             one_of({"gpipe", "1f1b", "interleaved", "zero-bubble", "zb-v", "dualpipe-v"}));
  v.optional("tensor", s.tensor, "several GPUs may share each product");
  v.optional("context_rings", s.context_rings,
             "GPUs that share a sequence may pass keys and values on, or gather them");
  v.optional("context_heads", s.context_heads,
             "GPUs that share a sequence may turn tokens into heads for attention");
}

} // namespace foretrain::models
