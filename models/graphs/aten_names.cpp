#include "models/graphs/aten_names.hpp"

#include <set>
#include <string_view>

namespace foretrain::models {

namespace {

// Between blanks, without a trailing '_'.
constexpr std::string_view kNothing =
    " _conj _copy_from _cudnn_init_dropout_state _cudnn_rnn_flatten_weight "
    "_has_compatible_shallow_copy_type _local_scalar_dense _nested_tensor_size _pin_memory "
    "_reshape_alias _to_copy _unsafe_view _use_cudnn_rnn_flatten_weight _version adjoint "
    "alias allclose arange as_strided bernoulli broadcast_tensors broadcast_to can_cast "
    "chunk clone conj contiguous copy data detach diagonal dim dsplit empty empty_like "
    "empty_strided equal expand expand_as exponential eye fill flatten flatten_dense_tensors "
    "full full_like hsplit imag is_complex is_floating_point is_leaf is_nonzero is_pinned "
    "is_same_size isfinite isnan item lift lift_fresh linspace mT matrix_H meshgrid moveaxis "
    "movedim narrow new_empty new_empty_strided new_full new_ones new_zeros normal numel "
    "numpy_T ones ones_like output_nr permute pin_memory promote_types rand rand_like "
    "randint randint_like randn randn_like random randperm range real record_stream "
    "requires_grad reshape resize resize_as resolve_conj resolve_neg result_type retain_grad "
    "scalar_tensor select set set_data size slice sort_indices split split_with_sizes "
    "squeeze stride swap swapaxes swapdims sym_numel sym_size sym_stride t tensor "
    "tensor_split to transpose tril tril_indices triu type_as unbind unflatten "
    "unflatten_dense_tensors unfold uniform unsafe_chunk unsafe_split unsqueeze view view_as "
    "view_as_complex view_as_real vsplit zero zeros zeros_like ";

} // namespace

bool computes_something(const std::string& name)
{
  const std::size_t colons = name.find("::");
  if (colons == std::string::npos)
    return false;
  const std::string library = name.substr(0, colons);
  if (library != "aten") {
    static const std::set<std::string> kAround{
        "c10d",  "c10d_functional", "_c10d_functional", "profiler", "prim",
        "prims", "autograd",        "inductor",         "cuda",     "torch"};
    return library.find_first_of(". :") == std::string::npos && !kAround.contains(library);
  }
  std::string word = name.substr(colons + 2);
  if (word.ends_with("_"))
    word.pop_back();
  return kNothing.find(" " + word + " ") == std::string_view::npos;
}

} // namespace foretrain::models
