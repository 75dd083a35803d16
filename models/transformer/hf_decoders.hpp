// config.json of decoders that are not built like Llama.
#pragma once

#include "models/transformer/hf_reader.hpp"

namespace foretrain::models::hf {

Json gpt2(const Config& c);
/// GPT-2 whose heads share one of keys and values (StarCoder).
Json gpt_bigcode(const Config& c);
Json gpt_neox(const Config& c);
/// Attention and feed-forward part behind one norm.
Json gpt_j(const Config& c);
/// Likewise.
Json phi(const Config& c);
Json falcon(const Config& c);
/// Slopes instead of positions (ALiBi) unless told otherwise; a norm of scales alone.
Json mpt(const Config& c);
Json opt(const Config& c);
/// Slopes instead of positions; a norm of the embeddings, which is left out.
Json bloom(const Config& c);
Json starcoder2(const Config& c);

} // namespace foretrain::models::hf
