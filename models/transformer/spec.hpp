// A transformer as one short description: what a file says under "transformer".
#pragma once

#include "models/transformer/layer_parts.hpp"
#include "sim/base/catalog.hpp"
#include "sim/base/schema.hpp"

#include <optional>
#include <string>

namespace foretrain::models {

/// Latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): keys and values come from a
/// compressed vector, queries too when query_rank > 0; positions ride in a part of their own.
struct LatentAttention {
  int query_rank = 0; // 0: queries are not compressed
  int kv_rank = 512;
  int rotary_size = 64; // of each head, beside head_size
  int value_size = 0;   // of each head; 0: head_size
};

/// A state-space mixer (Mamba-2, arXiv:2405.21060): heads of a scan, of which groups share what
/// goes in and out of their states. With a `step_rank` the first Mamba (arXiv:2312.00752), whose
/// values each forget at a pace of their own: its scan is no product.
struct Mamba {
  int heads = 0;
  int head_size = 64;
  int state = 128; // values of a head's state for each of its own
  int groups = 8;
  int convolution = 4; // tokens
  int chunk = 128;     // tokens that are multiplied at once
  int step_rank = 0;   // width of what makes each value's step of time; 0: one for each head

  bool selective() const { return step_rank > 0; }
  double inner() const { return static_cast<double>(heads) * head_size; }
  /// What is convolved: heads' values and the groups' two vectors.
  double convolved() const { return inner() + (selective() ? 0.0 : 2.0 * groups * state); }
  /// What the product in makes: that, a gate, and a step of time for each head.
  double projected() const { return inner() + convolved() + (selective() ? 0 : heads); }
  /// What a selective scan's second product makes: what steps are made from, and the vectors in and
  /// out of states.
  double narrow() const { return selective() ? step_rank + 2.0 * state : 0.0; }
  /// Weights of its products but the first and the last one.
  double inner_weights() const { return selective() ? inner() * (narrow() + step_rank) : 0.0; }
};

/// A linear attention with a delta rule: a state of each head forgets, and takes what its key does
/// not know yet (Gated DeltaNet, arXiv:2412.06464; Kimi Delta Attention, arXiv:2510.26692).
struct DeltaNet {
  int heads = 0;                // of values
  std::optional<int> key_heads; // of queries and keys; heads
  int head_size = 128;          // of values
  std::optional<int> key_size;  // of queries and keys; head_size
  int convolution = 4;          // tokens
  int chunk = 64;               // tokens that are multiplied at once
  // What a head forgets: one number for each, or one for each value of its keys, which narrow
  // products make, as they do the gate behind it (Kimi).
  int gate_rank = 0; // width of these; 0: one number, and a gate as wide as values

  double keys() const { return static_cast<double>(key_heads.value_or(heads)) * key(); }
  double values() const { return static_cast<double>(heads) * head_size; }
  int key() const { return key_size.value_or(head_size); }
  /// What is convolved: queries, keys and values.
  double convolved() const { return 2 * keys() + values(); }
  /// What the products in make: that, how much is written, what is forgotten, and a gate.
  double projected() const
  {
    return convolved() + heads + (gate_rank > 0 ? 2.0 * gate_rank : heads + values());
  }
  /// Weights of the products behind the narrow ones.
  double from_narrow() const { return gate_rank * (static_cast<double>(heads) * key() + values()); }
};

/// Whether a layer's two parts follow each other, or see the same tokens and are added up together
/// (GPT-J, PaLM): behind a norm each, or one.
enum class Block { sequential, parallel, parallel_one_norm };
constexpr auto choices(Block)
{
  return std::to_array<Choice<Block>>({{Block::sequential, "sequential"},
                                       {Block::parallel, "parallel"},
                                       {Block::parallel_one_norm, "parallel-one-norm"}});
}

struct Transformer {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  std::optional<int> kv_heads;  // as many as heads
  std::optional<int> head_size; // hidden / heads
  std::optional<int> ffn;       // 4 x hidden
  bool gated = false;           // two products up, one multiplied with the other (SwiGLU, GeGLU)
  int vocabulary = 0;
  std::optional<bool> tied;               // output weights are the embedding; default unless gated
  std::string norm;                       // "layer", "rms"; default rms when gated
  bool rotary = false;                    // positions turned into queries and keys
  std::optional<int> positions;           // learned ones; default 2048 unless rotary
  std::optional<bool> bias;               // of products; default with layer norm
  std::optional<bool> qkv_bias;           // of the products that make queries, keys and values
  std::optional<bool> joined_projections; // of these three, if the framework does not say
  std::optional<bool> attention_mask;     // of scores; default unless patch_values
  std::optional<bool> dropout;            // of scores and of each part; default as bias, likewise
  bool query_norm = false;                // a norm on each head's queries and keys
  bool attention_gate = false;            // what leaves attention is multiplied with a gate as wide
  bool rotary_scaled = false;             // rotations scale queries and keys, too (YaRN)
  bool clamped = false; // what goes into a gated activation is clamped first (GPT-OSS)
  Block block = Block::sequential;
  int window = 0;                // sliding window of attention; 0: all
  int full_attention_every = 0;  // one layer of so many attends to all, the others have a window or
                                 // another mixer; 0: none
  bool encoder = false;          // attends both ways (BERT, ViT)
  int token_types = 0;           // of BERT's embedding
  bool pooler = false;           // a dense layer on the first token (BERT)
  bool prediction_head = false;  // a dense layer and a norm before the output (BERT)
  double predicted = 1;          // share of the tokens that have an output, the others are left out
  int patch_values = 0;          // of one patch of an image (ViT) instead of a vocabulary
  int classes = 0;               // of its classifier
  int experts = 0;               // 0: dense
  int top_k = 0;                 // experts that each token goes to
  int routing_groups = 0;        // that experts are divided into, 0: one
  int routed_groups = 0;         // of them that a token goes to
  std::optional<int> expert_ffn; // ffn
  std::optional<int> expert_hidden; // values of a token as routed experts see it; hidden
  int shared_experts = 0;           // that every token goes to, each of expert_ffn
  int dense_layers = 0;             // the first ones, without experts
  int experts_every = 1;            // after these, one layer of so many has experts
  std::optional<LatentAttention> latent;
  std::optional<Mamba> mamba;    // instead of attention, but in the layers that have it
  std::optional<DeltaNet> delta; // likewise
  std::string pattern;           // of layers with one part each: M, D, *, -, E
  int mtp_layers = 0; // that predict further tokens (multi-token prediction), while training

  int kv() const { return kv_heads.value_or(heads); }
  int head() const { return head_size.value_or(heads > 0 ? hidden / heads : 0); }
  int inner() const { return ffn.value_or(4 * hidden); }
  int expert_inner() const { return expert_ffn.value_or(inner()); }
  int routed_hidden() const { return expert_hidden.value_or(hidden); }
  /// Whether an output over the vocabulary is computed of any token.
  bool has_logits() const { return vocabulary > 0 && predicted > 0; }
  bool is_tied() const { return tied.value_or(!gated); }
  bool rms() const { return norm.empty() ? gated : norm == "rms"; }
  bool has_bias() const { return bias.value_or(!rms()); }
  /// GPT-2 has one product for queries, keys and values, BERT and Llama three (google-research,
  /// huggingface).
  bool joins() const
  {
    return joined_projections.value_or(!rms() && (!encoder || patch_values > 0));
  }
  bool masks() const { return attention_mask.value_or(patch_values == 0); }
  bool drops() const { return dropout.value_or(has_bias() && patch_values == 0); }
  bool has_qkv_bias() const { return qkv_bias.value_or(has_bias()); }
  int learned_positions() const { return positions.value_or(rotary ? 0 : 2048); }
  /// Of layer 0, 1, ... Where layers take turns, the last of each turn has experts, or attends.
  LayerParts parts_of(int layer) const;
  /// Of a layer that predicts a further token.
  LayerParts prediction_parts() const
  {
    return {Mixer::attention, experts > 0 ? FeedForward::experts : FeedForward::dense};
  }
  /// Of layers from `first` on, in the order in which kinds come first.
  LayerRuns runs(int first, int count) const;
  LayerRuns runs() const { return runs(0, layers); }
  /// Whether layers carry states from token to token.
  bool scans() const { return mamba || delta; }
  /// Of layers, the share whose attention has the window.
  double windowed() const
  {
    const int full = full_attention_every > 0 && !scans() ? layers / full_attention_every : 0;
    return window > 0 ? static_cast<double>(layers - full) / layers : 0.0;
  }
};

/// What a model file holds when it describes a transformer.
struct TransformerFile {
  std::string name;
  std::string dataset = "tokens";
  int sequence = 2048; // tokens of a sample unless the job says so
  Transformer transformer;
};

/// Whether a resolved model preset describes a transformer, not a list of layers.
bool is_transformer(const Value& preset);

/// Reads and checks a resolved model preset. Throws ConfigError, e.g. for heads that do not divide.
TransformerFile load_transformer(const Value& preset);

template <class V>
void describe(V& v, LatentAttention& s)
{
  v.optional("query_rank", s.query_rank, "size of the compressed query; 0: not compressed",
             between(0, 1e6));
  v.required("kv_rank", s.kv_rank, "size of the compressed key and value", between(1, 1e6));
  v.optional("rotary_size", s.rotary_size, "of each head: values that carry the position",
             between(0, 1e6));
  v.optional("value_size", s.value_size, "of each head; default head_size", between(0, 1e6));
}

template <class V>
void describe(V& v, Mamba& s)
{
  v.required("heads", s.heads, "heads of the scan", between(1, 10000));
  v.optional("head_size", s.head_size, "values of each", between(1, 1e5));
  v.optional("state", s.state, "values of a head's state for each of its own", between(1, 1e5));
  v.optional("groups", s.groups, "of heads that share what goes in and out of their states",
             between(1, 10000));
  v.optional("convolution", s.convolution, "tokens that the convolution before the scan sees",
             between(1, 1000));
  v.optional("chunk", s.chunk, "tokens that the scan multiplies at once", between(1, 1e5));
  v.optional("step_rank", s.step_rank,
             "the first Mamba (Jamba): width of the product that makes a step of time for each "
             "value; 0: Mamba-2, with one for each head",
             between(0, 1e5));
}

template <class V>
void describe(V& v, DeltaNet& s)
{
  v.required("heads", s.heads, "heads of values, each with a state", between(1, 10000));
  v.optional("key_heads", s.key_heads, "heads of queries and keys; default heads",
             between(1, 10000));
  v.optional("head_size", s.head_size, "values of each", between(1, 1e5));
  v.optional("key_size", s.key_size, "and of its queries and keys; default head_size",
             between(1, 1e5));
  v.optional("convolution", s.convolution, "tokens that the convolution before it sees",
             between(1, 1000));
  v.optional("chunk", s.chunk, "tokens that are multiplied at once", between(1, 1e5));
  v.optional("gate_rank", s.gate_rank,
             "width of the narrow products that make what is forgotten of each value, and the gate "
             "(Kimi Delta Attention: 128); 0: a number for each head, and a gate as wide as values",
             between(0, 1e5));
}

template <class V>
void describe_experts(V& v, Transformer& s)
{
  v.optional("experts", s.experts, "of each layer; 0: dense", between(0, 10000));
  v.optional("top_k", s.top_k, "experts that each token goes to", between(0, 10000));
  v.optional("routing_groups", s.routing_groups,
             "groups that experts are divided into where a token goes to experts of some of them "
             "alone (DeepSeek-V3: 8); 0: any experts",
             between(0, 10000));
  v.optional("routed_groups", s.routed_groups, "and how many that are (DeepSeek-V3: 4)",
             between(0, 10000));
  v.optional("expert_ffn", s.expert_ffn, "width of an expert; default ffn", between(1, 1e7));
  v.optional("expert_hidden", s.expert_hidden,
             "values of a token as routed experts see it, made by a product before they are sent "
             "(LatentMoE, as in Nemotron 3 Super); default hidden",
             between(1, 1e6));
  v.optional("shared_experts", s.shared_experts, "experts that every token goes to",
             between(0, 1000));
  v.optional("dense_layers", s.dense_layers, "the first layers, which have no experts",
             between(0, 10000));
  v.optional(
      "experts_every", s.experts_every,
      "one layer of so many has experts, the last of each turn (2: every second, as in Llama "
      "4 Maverick)",
      between(1, 10000));
}

template <class V>
void describe(V& v, Transformer& s)
{
  v.required("layers", s.layers, "number of layers", between(1, 10000));
  v.required("hidden", s.hidden, "values per token", between(1, 1e6));
  v.required("heads", s.heads, "attention heads", between(1, 10000));
  v.optional("kv_heads", s.kv_heads, "heads of keys and values; default heads", between(1, 10000));
  v.optional("head_size", s.head_size, "default hidden / heads", between(1, 1e5));
  v.optional("ffn", s.ffn, "width of the feed-forward part; default 4 x hidden", between(1, 1e7));
  v.optional("gated", s.gated, "SwiGLU or GeGLU: two products up, one down");
  v.optional("vocabulary", s.vocabulary, "tokens that there are", between(0, 1e8));
  v.optional("tied", s.tied, "output weights are those of the embedding; default unless gated");
  v.optional("norm", s.norm, "default rms when gated, else layer", one_of({"layer", "rms"}));
  v.optional("rotary", s.rotary, "rotary positions");
  v.optional("rotary_scaled", s.rotary_scaled,
             "what is rotated is scaled, too (YaRN without mscale_all_dim)");
  v.optional("clamped", s.clamped,
             "what goes into a gated activation is clamped first (swiglu_limit of GPT-OSS)");
  v.optional("positions", s.positions, "learned positions; default 2048, none with rotary",
             between(0, 1e8));
  v.optional("bias", s.bias, "products have biases; default with layer norm");
  v.optional("qkv_bias", s.qkv_bias, "those that make queries, keys and values; default as bias");
  v.optional("joined_projections", s.joined_projections,
             "queries, keys and values are made by one product, where the framework's "
             "'transformer' does not say; default with layer norm, but for encoders of tokens");
  v.optional("attention_mask", s.attention_mask,
             "a mask is added to scores that are in memory; default without patch_values");
  v.optional("dropout", s.dropout,
             "scores and what attention and the feed-forward part give are dropped in part; "
             "default with bias and without patch_values");
  v.optional("query_norm", s.query_norm, "a norm on each head's queries and keys");
  v.optional("attention_gate", s.attention_gate,
             "what leaves attention is multiplied with a gate as wide (Qwen3-Next)");
  v.optional(
      "block", s.block,
      "attention and the feed-forward part follow each other, or see the same tokens, behind "
      "a norm each (parallel, GPT-NeoX) or one (parallel-one-norm, GPT-J, Falcon, Cohere)");
  v.optional("window", s.window, "sliding window of attention; 0: everything before",
             between(0, 1e8));
  v.optional("full_attention_every", s.full_attention_every,
             "with a window, mamba or delta: one layer of so many attends to everything before it "
             "(2: in turn, as in GPT-OSS; 4: as in Qwen3-Next); 0: none",
             between(0, 10000));
  v.optional("encoder", s.encoder, "attention looks both ways");
  v.optional("token_types", s.token_types, "token types of the embedding", between(0, 1000));
  v.optional("pooler", s.pooler, "a dense layer on the first token");
  v.optional("prediction_head", s.prediction_head, "a dense layer and a norm before the output");
  v.optional("predicted", s.predicted,
             "share of the tokens whose output is computed, where the others are left out: of "
             "masked language models 0.15; 0: there is no output over the vocabulary, as of "
             "classifiers and embedding models",
             between(0, 1));
  v.optional("patch_values", s.patch_values, "values of an image's patch, instead of a vocabulary",
             between(0, 1e7));
  v.optional("classes", s.classes, "of a classifier on the first token", between(0, 1e7));
  describe_experts(v, s);
  v.optional("latent", s.latent, "latent attention");
  v.optional("mamba", s.mamba,
             "Mamba mixers: of the layers that pattern or full_attention_every leaves them");
  v.optional("delta", s.delta,
             "linear attention with a delta rule (Gated DeltaNet, Kimi Delta Attention): likewise");
  v.optional("pattern", s.pattern,
             "a letter for each layer, where layers have one part each: M Mamba, D a delta rule, * "
             "attention, - feed-forward, E experts (Nemotron-H's hybrid_override_pattern)");
  v.optional("mtp_layers", s.mtp_layers,
             "trained beside the others to predict further tokens (multi-token prediction): each "
             "with a product, a layer and logits of its own, on the last stage",
             between(0, 100));
}

template <class V>
void describe(V& v, TransformerFile& s)
{
  v.format("foretrain.network/1");
  v.optional("name", s.name, "how reports call it; the file's name when left out");
  v.optional("dataset", s.dataset, "data set it is usually trained on");
  v.optional("sequence", s.sequence, "tokens of a sample unless the job says so", between(1, 1e8));
  v.required("transformer", s.transformer, "its dimensions");
}

} // namespace foretrain::models
