#include "models/transformer/spec.hpp"

#include <fmt/format.h>

namespace foretrain::models {

namespace {

void check(const Value& at, const Transformer& t)
{
  if (!t.head_size && t.hidden % t.heads != 0)
    at.fail_at("heads",
               fmt::format("is {}, which does not divide the hidden size of {}", t.heads, t.hidden),
               "name a head_size if heads are not hidden / heads wide");
  if (t.heads % t.kv() != 0)
    at.fail_at("kv_heads", fmt::format("is {}, but must divide the {} heads", t.kv(), t.heads));
  if (t.vocabulary == 0 && t.patch_values == 0)
    at.fail_at("vocabulary", "is missing (or patch_values, for images)");
  if (t.experts > 0 && (t.top_k < 1 || t.top_k > t.experts))
    at.fail_at("top_k", fmt::format("is {}, but each token goes to 1 to {} of the experts", t.top_k,
                                    t.experts));
  if (t.experts == 0 && (t.top_k > 0 || t.shared_experts > 0 || t.dense_layers > 0))
    at.fail("has top_k, shared_experts or dense_layers, but no experts");
  if (t.dense_layers > t.layers)
    at.fail_at("dense_layers", fmt::format("is {} of {} layers", t.dense_layers, t.layers));
}

} // namespace

bool is_transformer(const Value& preset)
{
  return preset.json().is_object() && preset.json().contains("transformer");
}

TransformerFile load_transformer(const Value& preset)
{
  auto file = read_as<TransformerFile>(preset);
  check(preset.at("transformer"), file.transformer);
  if (file.name.empty()) {
    const auto& path = preset.document()->path;
    file.name = path.empty() || !preset.pointer().empty() ? "transformer" : path.stem().string();
  }
  return file;
}

} // namespace foretrain::models
