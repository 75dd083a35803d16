// config.json of encoders, and what stands behind the layers of any kind.
#pragma once

#include "models/transformer/hf_reader.hpp"

namespace foretrain::models::hf {

Json bert(const Config& c);
/// RoBERTa, XLM-RoBERTa, CamemBERT: positions begin behind those of padding; the dense layer of a
/// classifier is that of BERT's pooler.
Json roberta(const Config& c);
Json distilbert(const Config& c);
Json vit(const Config& c);

/// A class that ends so has no output over the vocabulary: what follows the layers are some outputs
/// of a sample or a token, or nothing.
void set_head(const Config& c, Json& t);

} // namespace foretrain::models::hf
