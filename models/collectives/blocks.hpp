// How a library of NCCL's kind divides a call among channels, their blocks and threads: how many of
// them work, on which pieces, and how often they go round. NCCL source, src/enqueue.cc.
#pragma once

#include "models/collectives/pattern.hpp"

namespace foretrain::models {

/// Of a ring's channels, the share that a call of `size` bytes uses: small calls use few, each of
/// which carries its share of the protocol's limit.
double channels_share(int version, const sim::Communicator& comm, Operation operation,
                      ProtocolKind protocol, double size);

/// Whether the blocks of a call in LL have all their threads: the library gives a thread 8 bytes,
/// in rings 8 of each rank, and halves blocks of which the threads would get less.
bool full_blocks(const sim::Communicator& comm, Family family, double size);

/// How often the blocks' threads, 8 bytes each, go round in one step of a ring in LL. Up to one
/// round each on all channels, a call that grows takes more channels instead.
double rounds_of_ring(const sim::Communicator& comm, double size);

/// Steps of a ring in each of which a block moves one rank's part: the hops between ranks, and the
/// first that reads or the last that writes a rank's own part.
double steps_of_blocks(const sim::Communicator& comm, Operation operation);

/// Bytes of the buffer that the blocks of all of a ring's channels move in one round of LL.
double round_of_ring(const sim::Communicator& comm);

/// Whether a send of so many bytes to one rank goes by LL, else by Simple.
bool send_by_ll(int version, const sim::Communicator& comm, double bytes);

/// Channels over which a send of so many bytes to one rank is spread.
int send_channels(int version, const sim::Communicator& comm, ProtocolKind protocol, double bytes);

/// How often the threads that send go round in a send by LL, which are half of a block's.
double rounds_of_send(int version, const sim::Communicator& comm, double bytes);

/// Bytes of a message of Simple from node to node in a call of `size` bytes: a tree's are its
/// chunks; others before they are cut to the buffer's pieces, a ring's one rank's part on one of
/// the channels in use, those between pairs what one rank has for the other.
double message_bytes(int version, const sim::Communicator& comm, Operation operation, Family family,
                     double size);

/// Channels of trees.
int tree_channels(const sim::Communicator& comm);

/// How a tree's channel of Simple is cut in an all-reduce: chunks that follow each other through
/// the tree, smaller ones for smaller buffers, so that several are under way.
struct TreeChunks {
  double bytes = 0; // of one of them
  double count = 1; // on each channel
};
TreeChunks tree_chunks(int version, const sim::Communicator& comm, double size);

/// What a block of a tree takes to move a chunk of Simple from GPU to GPU, beyond the `step` with
/// which each chunk begins: the library's table has what both ways of two blocks carry together in
/// whole chunks.
Seconds tree_copy(int version, const sim::Communicator& comm, Seconds step, double bytes);

/// Bytes of the last chunk of a send that goes by Simple. A send between two ranks ends when the
/// receiving block has copied it out of its buffer; chunks before that are copied while the next
/// ones arrive.
double last_chunk(int version, const sim::Communicator& comm, Operation operation, double size);

/// Bytes of the buffer that pass all channels in one round when the switch adds.
double round_of_switch(const sim::Communicator& comm, double size);

/// What one rank sends to another one in a call of sends.
double bytes_to_one(const sim::Communicator& comm, Operation operation, double size);

} // namespace foretrain::models
