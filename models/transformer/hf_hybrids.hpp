// config.json of models whose layers are of several kinds.
#pragma once

#include "models/transformer/hf_reader.hpp"

namespace foretrain::models::hf {

/// Nemotron-H and Nemotron 3: layers with one part each.
Json nemotron_h(const Config& c);
/// The first Mamba in every layer, each by itself.
Json mamba(const Config& c);
/// The first Mamba, every few layers attention, every few layers experts.
Json jamba(const Config& c);
/// Gated delta nets, every few layers attention with a gate.
Json qwen3_next(const Config& c);
/// Kimi Delta Attention, every few layers latent attention.
Json kimi_linear(const Config& c);

} // namespace foretrain::models::hf
