// Which server holds what: tensors whole, in partitions, or large ones in equal parts.
#pragma once

#include "models/training/framework.hpp"

#include <vector>

namespace foretrain::models {

/// The server that holds a partition, counted from 0: a hash (DJB2) of the decimal digits of its
/// key, 65536 x tensor + partition, as BytePS has it (byteps/common/global.cc, EncodeDefaultKey).
/// Multiples of 3 and 11 share badly, because 33 is one: of 3 servers one gets a fifth more, of 11
/// one gets nothing.
int server_of_partition(int tensor, int partition, int servers);

/// A tensor or a part of one, and the server that holds it; -1: there are none.
struct Shard {
  Bytes size;
  int server = -1;
};

/// Hands tensors out to servers, by the rule of a framework:
/// - tensor: whole, to the server that holds least so far;
/// - bytes: in partitions, by the hash of their keys (BytePS);
/// - large: from `partition` on in as many equal parts as there are servers, smaller ones whole to
///   server 9973 x tensor modulo servers (MXNet, src/kvstore/kvstore_dist.h, EncodeDefaultKey).
class ServerShards {
public:
  ServerShards(const ServerRules& rules, int servers);

  /// The parts of tensor number `tensor`, in their order; their sizes add up to `size`.
  std::vector<Shard> of(Bytes size, int tensor);

private:
  ServerShard rule_;
  Bytes partition_;
  int servers_;
  std::vector<double> load_; // bytes that each server holds
};

} // namespace foretrain::models
