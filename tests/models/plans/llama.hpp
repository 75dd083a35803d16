// A job that tests of memory are about.
#pragma once

#include "models/plans/memory.hpp"

namespace foretrain::test {

/// Llama 3 8B on one GPU, 8,192 tokens.
inline models::MemorySetting llama()
{
  models::MemorySetting s;
  models::Transformer& t = s.model;
  t.layers = 32;
  t.hidden = 4096;
  t.heads = 32;
  t.kv_heads = 8;
  t.ffn = 14336;
  t.gated = t.rotary = true;
  t.vocabulary = 128256;
  s.batch.sequence = 8192;
  s.batch.micro_batches = 1;
  return s;
}

} // namespace foretrain::test
