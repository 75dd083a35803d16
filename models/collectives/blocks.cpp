#include "models/collectives/blocks.hpp"

#include "models/collectives/tuning.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace foretrain::models {

namespace {

// What a channel gets before another one helps: traffic from 2.22 on (MinTrafficPerChannel,
// src/enqueue.cc, of which a byte in LL is four), before that bytes of a thread
// (NCCL_LL_THREAD_THRESHOLD), for rings in LL of each rank (src/graph/tuning.cc).
constexpr double kChannelTraffic = 16 << 10;
constexpr double kChannelTrafficFrom227 = 32 << 10;
constexpr double kTrafficOfLl = 4;
constexpr double kThreadBytes = 8;
constexpr double kThreadsLl = 512;
constexpr double kThreadsLl128 = 640;
constexpr double kThreadBytesSimple = 64; // NCCL_SIMPLE_THREAD_THRESHOLD
constexpr double kThreadsSimple = 512;
constexpr int kMostChannels = 32; // MAXCHANNELS

// Sends between two ranks (src/init.cc, src/enqueue.cc, src/device/sendrecv.h): the chunk that a
// block hands over at once, the threads of a block of 20 warps that send (the others receive), what
// goes by LL, and the channels to one rank that is not over NVLink (src/graph/paths.cc).
constexpr double kSendChunkNvlink = 512 << 10; // NCCL_P2P_NVL_CHUNKSIZE
constexpr double kSendChunk = 128 << 10;       // NCCL_P2P_PCI_CHUNKSIZE, _NET_CHUNKSIZE
constexpr double kSendChunkLl = 64 << 10;
constexpr double kThreadsThatSend = 320;
constexpr double kSmallSend = 16 << 10; // NCCL_P2P_LL_THRESHOLD
constexpr int kChannelsElsewhere = 2;
constexpr int kLlByPart = 22900;    // from there on the limit for LL is one of each channel's part
constexpr int kNoNetworkLl = 21400; // from there on no buffers of LL for sends between nodes

// Chunks of trees: of a buffer of 4 MiB one of eight steps (NCCL_STEPS), and halved while a channel
// has fewer than so many of them for each level of the tree, down to so many bytes.
constexpr double kTreeChunk = 512 << 10;
struct Halving {
  double chunks_per_level;
  double smallest;
};
constexpr Halving kTreeHalvings[] = {{8, 128 << 10}, {4, 64 << 10}, {1, 32 << 10}};

// Where the switch adds: channels by generation (src/transport/nvls.cc), and the largest chunk.
constexpr double kSwitchChannels = 16;
constexpr double kSwitchChannelsBlackwell = 24;
constexpr double kSwitchChannelsBlackwellNodes = 32;
constexpr double kSwitchChunk = 128 << 10; // NCCL_NVLS_CHUNKSIZE
constexpr int kManyNodes = 4;              // from there on chunks are halved

int channels_of(const sim::GraphAssumption& graph)
{
  return std::clamp(2 * graph.channels, 1, kMostChannels); // each is there twice
}

bool all_nvlink(const sim::Communicator& comm)
{
  return comm.nodes == 1 && comm.ring_graph.nvlink;
}

// Channels for sends: of all there are, a power of two.
int all_send_channels(const sim::Communicator& comm)
{
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(channels_of(comm.ring_graph))));
}

int most_send_channels(const sim::Communicator& comm)
{
  const int all = all_send_channels(comm);
  return all_nvlink(comm) ? all : std::min(all, kChannelsElsewhere);
}

double send_chunk(const sim::Communicator& comm)
{
  return all_nvlink(comm) ? kSendChunkNvlink : kSendChunk;
}

// In these versions the pieces of a send and its limit for LL follow from LL's own buffer.
bool ll_by_channels(int version)
{
  return version >= 22200 && version < kLlByPart;
}

// Bytes of a channel's traffic before another one helps.
double channel_share(int version, Operation operation)
{
  const double each = version < 22700 ? kChannelTraffic : kChannelTrafficFrom227;
  return each / (operation == Operation::all_reduce ? 2 : 1);
}

// Bytes of the buffer on each of the channels of Simple that a call of `size` bytes uses.
double channel_bytes(int version, const sim::Communicator& comm, Operation operation, Family family,
                     double size)
{
  const double each =
      version < 22200 ? kThreadBytesSimple * kThreadsSimple : channel_share(version, operation);
  const double all = channels_of(family == Family::ring ? comm.ring_graph : comm.tree_graph);
  return size / std::clamp(std::ceil(size / each), 1.0, all);
}

} // namespace

double bytes_to_one(const sim::Communicator& comm, Operation operation, double size)
{
  return operation == Operation::all_to_all ? size / comm.ranks : size;
}

double channels_share(int version, const sim::Communicator& comm, Operation operation,
                      ProtocolKind protocol, double size)
{
  const int all = comm.ring_graph.channels;
  if (all < 2 || protocol == ProtocolKind::simple)
    return 1;
  double each = channel_share(version, operation);
  each /= protocol == ProtocolKind::ll ? kTrafficOfLl : 1;
  if (version < 22200)
    each = protocol == ProtocolKind::ll ? kThreadBytes * kThreadsLl * comm.ranks
                                        : kThreadBytes * kThreadsLl128;
  return std::clamp(std::ceil(size / each), 1.0, static_cast<double>(all)) / all;
}

bool full_blocks(const sim::Communicator& comm, Family family, double size)
{
  return size >= kThreadBytes * kThreadsLl * (family == Family::ring ? comm.ranks : 1);
}

double round_of_ring(const sim::Communicator& comm)
{
  return kThreadBytes * kThreadsLl * comm.ranks * channels_of(comm.ring_graph);
}

double rounds_of_ring(const sim::Communicator& comm, double size)
{
  return std::max(1.0, std::ceil(size / round_of_ring(comm)));
}

double steps_of_blocks(const sim::Communicator& comm, Operation operation)
{
  const double n = comm.ranks;
  return operation == Operation::all_reduce ? 2 * n - 1 : n;
}

int send_channels(int version, const sim::Communicator& comm, ProtocolKind protocol, double bytes)
{
  const int all = all_send_channels(comm);
  const int most = most_send_channels(comm);
  int least = most;
  while (least * comm.ranks > all && least > 1)
    least /= 2;
  const bool own_chunk = protocol == ProtocolKind::ll && ll_by_channels(version);
  const double chunk = own_chunk ? kSendChunkLl : send_chunk(comm);
  const double smallest = comm.nodes > 1 ? chunk / 2 : chunk / 8;
  const double largest = comm.nodes > 1 ? chunk : chunk * 32;
  int channels =
      static_cast<int>(std::clamp(std::ceil(bytes / smallest), 1.0, static_cast<double>(least)));
  while (bytes / channels > largest && channels <= most / 2)
    channels *= 2;
  return channels;
}

bool send_by_ll(int version, const sim::Communicator& comm, double bytes)
{
  if (comm.nodes > 1 && version >= kNoNetworkLl)
    return false;
  int channels = 1;
  if (ll_by_channels(version))
    channels = most_send_channels(comm);
  else if (version >= kLlByPart)
    channels = send_channels(version, comm, ProtocolKind::simple, bytes);
  return bytes <= kSmallSend * channels;
}

double rounds_of_send(int version, const sim::Communicator& comm, double bytes)
{
  const double part = bytes / send_channels(version, comm, ProtocolKind::ll, bytes);
  return std::max(1.0, std::ceil(part / (kThreadBytes * kThreadsThatSend)));
}

double message_bytes(int version, const sim::Communicator& comm, Operation operation, Family family,
                     double size)
{
  if (sends(operation))
    return bytes_to_one(comm, operation, size);
  if (family == Family::tree)
    return tree_chunks(version, comm, size).bytes;
  const double each = channel_bytes(version, comm, operation, family, size);
  return family == Family::ring && operation != Operation::broadcast ? each / comm.ranks : each;
}

int tree_channels(const sim::Communicator& comm)
{
  return channels_of(comm.tree_graph);
}

TreeChunks tree_chunks(int version, const sim::Communicator& comm, double size)
{
  const double channel = channel_bytes(version, comm, Operation::all_reduce, Family::tree, size);
  const int chain = comm.ranks / comm.nodes; // of a node
  const double levels = chain - 1 + std::floor(std::log2(comm.nodes));
  double chunk = kTreeChunk;
  for (const Halving& halving : kTreeHalvings)
    while (std::floor(channel / chunk) < halving.chunks_per_level * levels &&
           chunk > halving.smallest)
      chunk /= 2;
  return {std::min(chunk, channel), std::max(1.0, std::ceil(channel / chunk))};
}

Seconds tree_copy(int version, const sim::Communicator& comm, Seconds step, double bytes)
{
  const double whole = 4 * kTreeChunk / channel_rate(version, comm);
  return Seconds(std::max(0.0, whole - step.value()) * bytes / kTreeChunk);
}

double last_chunk(int version, const sim::Communicator& comm, Operation operation, double size)
{
  const double bytes = bytes_to_one(comm, operation, size);
  return std::min(bytes / send_channels(version, comm, ProtocolKind::simple, bytes),
                  send_chunk(comm));
}

double round_of_switch(const sim::Communicator& comm, double size)
{
  const bool blackwell = comm.compute_capability >= 10;
  const double channels = !blackwell        ? kSwitchChannels
                          : comm.nodes == 1 ? kSwitchChannelsBlackwell
                                            : kSwitchChannelsBlackwellNodes;
  const double pieces = channels * comm.ranks / comm.nodes;
  double chunk = comm.nodes >= kManyNodes ? kSwitchChunk / 2 : kSwitchChunk;
  // Smaller chunks for smaller buffers: until so many rounds are left.
  const double rounds[] = {comm.nodes == 1 ? 64.0 : 4.0, comm.nodes == 1 ? 8.0 : 1.0, 2.0};
  const double limits[] = {64 << 10, 32 << 10, 16 << 10};
  const std::size_t cuts = comm.nodes == 1 ? 3 : 2; // trees between nodes know two
  for (std::size_t i = 0; i < cuts; ++i)
    if (size < rounds[i] * pieces * chunk && chunk > limits[i])
      chunk = limits[i];
  return std::min(size, pieces * chunk);
}

} // namespace foretrain::models
