// config.json of Llama and of what is built like it.
#pragma once

#include "models/transformer/hf_reader.hpp"

namespace foretrain::models::hf {

/// Llama, Mistral, Mixtral, Qwen 2 and 3, Gemma, OLMo, OLMoE, Granite, MiniMax M2, SmolLM 3,
/// Seed-OSS, and others.
Json llama_like(const Config& c);
/// Norms of means with their biases, and products without.
Json stablelm(const Config& c);
Json gpt_oss(const Config& c);
/// Layers of experts beside a shared one take turns with wider dense ones (Maverick), or not
/// (Scout).
Json llama4(const Config& c);
/// GLM-4.5 and dots.llm1: experts as DeepSeek's, attention as Llama's.
Json routed_llama(const Config& c);
/// Latent attention and routed experts.
Json deepseek(const Config& c);
/// Command R: a norm of scales alone, which is told as one of root mean squares.
Json cohere(const Config& c);

} // namespace foretrain::models::hf
