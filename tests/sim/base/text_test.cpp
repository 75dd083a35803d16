// Nearest names for messages.
#include "sim/base/text.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::text_test {

TEST_CASE("An excerpt is one line that a terminal shows as it is")
{
  CHECK(excerpt("plain é", 20) == "plain é");
  CHECK(excerpt("a\nb\x1b[1mc\x7f", 20) == "a?b?[1mc?");
  CHECK(excerpt("abcdef", 6) == "abcdef");
  CHECK(excerpt("abcdef", 5) == "abcde...");
  // No half characters: neither as they were given nor as they are cut.
  CHECK(excerpt("a\xc3'", 20) == "a?'");
  CHECK(excerpt("a\xc3", 20) == "a?");
  CHECK(excerpt("\xa9"
                "b",
                20) == "?b");
  CHECK(excerpt("abcdé", 5) == "abcd...");
  CHECK(excerpt("a€b😀", 8) == "a€b...");
  CHECK(excerpt("a€b😀", 9) == "a€b😀");
}

TEST_CASE("The nearest name: exchanged letters are one mistake, of equals the one with all letters")
{
  const std::vector<std::string> keys{"mode", "model", "gpus"};
  CHECK(nearest("modle", keys) == "model");
  CHECK(nearest("modl", keys) == "model");
  CHECK(nearest("mod", keys) == "mode");
  CHECK(nearest("gpsu", keys) == "gpus");
  CHECK(nearest("nodes", {"notes", "node"}) == "node");
  CHECK(nearest("framework", keys).empty());
}

TEST_CASE("Of a version that is not there the newest one before it is told")
{
  const std::vector<std::string> libraries{"nccl-1",    "nccl-2.4",  "nccl-2.12",  "nccl-2.18",
                                           "nccl-2.27", "rccl-2.20", "nccl-2.20-x"};
  CHECK(hint("NCCL-2.19.4", libraries) == "did you mean 'nccl-2.18'?");
  CHECK(hint("nccl-2.9", libraries) == "did you mean 'nccl-2.4'?");
  CHECK(hint("nccl-3.0", libraries) == "did you mean 'nccl-2.27'?");
  CHECK(hint("nccl-2.27.0", libraries) == "did you mean 'nccl-2.27'?");
  CHECK(hint("nccl-0.9", libraries) !=
        "did you mean 'nccl-1'?"); // none is older: the nearest name, if any
  CHECK(hint("torch-2.1", {"torch-9", "torch"}) == "did you mean 'torch-9'?");
}

TEST_CASE("A key that the word begins with is told")
{
  const std::vector<std::string> keys{"source", "tensor", "context", "context_heads", "expert"};
  CHECK(hint("tensor_model_parallel_size", keys) == "did you mean 'tensor'?");
  CHECK(hint("context_parallel_size", keys) == "did you mean one of context, context_heads?");
  CHECK(hint("tensors_of_all_layers", keys).empty());
}

TEST_CASE("Of several names that begin with the word all are told, unless one is nearly the word")
{
  const std::vector<std::string> names{"dgx-2", "dgx1-p100", "dgx1-v100", "resnet50", "resnet101"};
  CHECK(suggestion("dgx1", names, "platforms") == "did you mean one of dgx1-p100, dgx1-v100?");
  CHECK(suggestion("resnet5", names, "models") == "did you mean 'resnet50'?");
  CHECK(hint("resnet5", {"resnet50", "resnet50-v1.5"}) == "did you mean 'resnet50'?");
  CHECK(suggestion("dgx1-p10", names, "platforms") == "did you mean 'dgx1-p100'?");
  CHECK(suggestion("xyz", {"a", "b"}, "letters") == "known letters: a, b");
  std::vector<std::string> many(30, "alexnet");
  many.insert(many.end(), {"qwen2.5-7b", "qwen2.5-72b"});
  const std::string listed = suggestion("qwen2.5-coder-instruct", many, "models");
  CHECK(listed.starts_with("known models: qwen2.5-7b, qwen2.5-72b, alexnet, "));
  CHECK(listed.ends_with("alexnet, ..."));
  many.insert(many.end(), {"bert", "dlrm", "gpt"});
  CHECK(suggestion("distilbert", many, "models").starts_with("known models: bert, dlrm, alexnet"));
  const std::vector<std::string> frameworks{"mxnet",        "mxnet-horovod", "pytorch-ddp",
                                            "pytorch-fsdp", "tf-horovod",    "pytorch-horovod-bsp"};
  CHECK(suggestion("Horovod", frameworks, "frameworks") ==
        "did you mean one of tf-horovod, mxnet-horovod, pytorch-horovod-bsp?");
  CHECK(suggestion("ddp", frameworks, "frameworks") == "did you mean 'pytorch-ddp'?");
  CHECK(hint("pytroch", frameworks) ==
        "did you mean one of pytorch-ddp, pytorch-fsdp, pytorch-horovod-bsp?");
  CHECK(hint("pyt", {"pytorch-ddp", "pyy-ddp"}) == "did you mean 'pytorch-ddp'?");
  CHECK(suggestion("horo", frameworks, "frameworks").starts_with("known frameworks: "));
}

TEST_CASE("A name with a number is a misspelling of its own family's alone")
{
  const std::vector<std::string> gpus{"a10",      "a100-sxm4-80gb", "h100-pcie", "k80",
                                      "l40s",     "rtx3090",        "rtx4090",   "t4",
                                      "resnet50", "v100-pcie-16gb"};
  CHECK(nearest("a30", gpus) == "a10");
  CHECK(nearest("a30", {"k80", "t4", "p100"}).empty());
  CHECK(nearest("m40", {"k80", "l40s", "a40"}).empty());
  CHECK(nearest("RTX3080", gpus) == "rtx3090");
  CHECK(nearest("resnt50", gpus) == "resnet50");
  CHECK(nearest("L40", gpus) == "l40s");
  CHECK(suggestion("V100", gpus, "gpus") == "did you mean 'v100-pcie-16gb'?");
  const std::vector<std::string> keys{"gpus", "batch_per_gpu", "micro_batch", "net_rate"};
  for (const char* size : {"batchsize", "batch_size", "Batch"})
    CHECK(suggestion(size, keys, "keys") == "did you mean 'batch_per_gpu'?");
  CHECK(suggestion("network", keys, "keys").starts_with("known keys: ")); // of three letters
  CHECK(suggestion("m40", {"k80", "t4"}, "gpus") == "known gpus: k80, t4");
  const std::vector<std::string> precisions{"fp16", "bf16", "fp8", "mxfp8", "mxfp4", "nvfp4"};
  CHECK(hint("fp4", precisions) == "did you mean one of mxfp4, nvfp4?");
  CHECK(hint("fp9", precisions) == "did you mean 'fp8'?");
  CHECK(hint("rtx", {"gtx"}) == "did you mean 'gtx'?");
  CHECK(hint("int4", precisions).empty());
}

} // namespace foretrain::text_test
