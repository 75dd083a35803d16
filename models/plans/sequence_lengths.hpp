// Sequences that differ in length, and whose padding no kernel sees.
#pragma once

#include "sim/base/schema.hpp"

namespace foretrain::models {

struct SequenceLengths {
  double mean = 0;       // tokens
  double deviation = 0;  // standard
  bool balanced = false; // ranks hand each other sequences until all have as many tokens
};

template <class V>
void describe(V& v, SequenceLengths& s)
{
  v.required("mean", s.mean, "tokens of a sequence, padding left out", between(1, 1e8));
  v.optional("deviation", s.deviation, "standard deviation of that", non_negative());
  v.optional("balanced", s.balanced,
             "GPUs hand each other sequences, or pack them, so that all have as many tokens in a "
             "step; default: each waits for the one with the most");
}

/// Throws ConfigError where no sequences of at most `longest` tokens are so long and differ so
/// much.
void check_lengths(const SequenceLengths& lengths, int longest, const Value& at);

/// The length at which equally long sequences, as many tokens in all, take attention as much work:
/// the mean of squares over the mean.
double attended_length(const SequenceLengths& lengths);

/// Standard deviation of the tokens of `samples` sequences, relative to their mean.
double token_variation(const SequenceLengths& lengths, double samples);

/// Tokens that hardly any batch of so many sequences has more of: the mean and three standard
/// deviations, at most all of the longest. Where they are balanced, the `batches` of a step have as
/// many each: the mean of all varies less.
double most_tokens(const SequenceLengths& lengths, double samples, int longest, double batches);

} // namespace foretrain::models
