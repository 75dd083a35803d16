// The networks that ship with Foretrain against published totals.
#include "tests/models/network_support.hpp"

#include <catch2/catch.hpp>

#include <cmath>

namespace foretrain::network_presets_test {

using namespace foretrain::models;

namespace {

// Rows model-* of the reference measurements: totals of the layer lists in tensorflow/benchmarks,
// scripts/tf_cnn_benchmarks/models/*.py (commit 8fb79079, 1001 classes), and of DenseNet-BC-121
// (arXiv:1608.06993). gmac is printed to three digits.
struct Published {
  const char* row; // the rows are ROW-params, ROW-gradbytes, ROW-gmac and ROW-tensors
  const char* preset;
  std::int64_t parameters;
  double gradient_bytes;
  double gmac;
  std::int64_t tensors;
};
constexpr Published kPublished[] = {
    {"model-alexnet-tf_cnn_benchmarks-227x227", "alexnet", 61842345, 247369380, 0.839, 16},
    {"model-vgg16", "vgg16", 138361641, 553446564, 15.47, 32},
    {"model-vgg19", "vgg19", 143671337, 574685348, 19.632, 38},
    {"model-resnet50-v1", "resnet50", 25559081, 102236324, 3.858, 161},
    {"model-resnet50-v1-5", "resnet50-v1.5", 25559081, 102236324, 4.089, 161},
    {"model-resnet101-v1", "resnet101", 44551209, 178204836, 7.570, 314},
    {"model-resnet152-v1", "resnet152", 60194857, 240779428, 11.282, 467},
    {"model-inception3-no-aux-head", "inception3", 23819401, 95277604, 5.713, 190},
    {"model-googlenet", "googlenet", 6999577, 27998308, 1.583, 116},
    {"model-densenet121-1000-classes", "densenet121", 7978856, 31915424, 2.834, 364},
    {"model-densenet121-14-classes-chexnet", "densenet121-chexnet", 6968206, 27872824, 2.833, 364},
    // pytorch/vision, docs of torchvision.models: parameters and GFLOPS (multiply-accumulates)
    {"torchvision-resnet18", "resnet18", 11689512, 46758048, 1.814, 62},
    {"torchvision-resnet34", "resnet34", 21797672, 87190688, 3.664, 110},
    {"torchvision-densenet161", "densenet161", 28681000, 114724000, 7.728, 484},
};

// pytorch/vision, documentation of each model: num_params and GFLOPS, which are multiply-
// accumulates and have two digits after the point.
struct Documented {
  const char* preset;
  std::int64_t parameters;
  double gmac;
};
constexpr Documented kDocumented[] = {
    {"efficientnet-b0", 5288548, 0.39},
    {"efficientnet-b1", 7794184, 0.69},
    {"efficientnet-b2", 9109994, 1.09},
    {"efficientnet-b3", 12233232, 1.83},
    {"efficientnet-b4", 19341616, 4.39},
    {"efficientnet-b5", 30389784, 10.27},
    {"efficientnet-b6", 43040704, 19.07},
    {"efficientnet-b7", 66347960, 37.75},
    {"resnext50-32x4d", 25028904, 4.23},
    {"resnext101-32x8d", 88791336, 16.41},
    {"resnext101-64x4d", 83455272, 15.46},
    {"convnext-tiny", 28589128, 4.46},
    {"convnext-small", 50223688, 8.68},
    {"convnext-base", 88591464, 15.36},
    {"convnext-large", 197767336, 34.36},
    {"swin-tiny", 28288354, 4.49},
    {"swin-small", 49606258, 8.74},
    {"swin-base", 87768224, 15.43},
    {"densenet169", 14149480, 3.36},
    {"densenet201", 20013928, 4.29},
    {"vgg11", 132863336, 7.61},
    {"vgg13", 133047848, 11.31},
};

// Counted in the code that each file names: trained parameters and their tensors, and the
// multiply-accumulates of its convolutions and linear layers (hooks on the modules, torch 1.13 and
// torchvision 0.14), of detectors without the boxes' matching. ssd300-resnet34 has 20.058 M
// parameters in OpenVINO's Open Model Zoo (ssd-resnet34-1200-onnx), with its averages.
struct Counted {
  const char* preset;
  std::int64_t parameters;
  std::int64_t tensors;
  double gmac;
};
constexpr Counted kCounted[] = {
    {"ssd300-resnet34", 19972534, 131, 15.8621},
    {"ssd300-resnet50", 22894902, 183, 20.1509},
    {"retinanet-resnext50", 36849004, 78, 201.2084},
    // Pyramid and proposals 163.2222, 512 boxes 7.3259, 128 masks 67.8476. torchvision's documents
    // say 44,401,393 parameters with 91 classes; 53,820 fewer with 81, and 222,400 frozen.
    {"maskrcnn-resnet50", 44401393 - 53820 - 222400, 84, 238.3957},
    {"unet3d-kits19", 31190243, 78, 477.2987},
    {"nnunet-3d", 31192868, 78, 482.8016},
    {"nnunet-2d", 20613092, 78, 6.6925},
};

// Rows burden-* (albanie/convnet-burden, README.md, commit 9c7f31ba): parameters and features of
// one image in MiB, rounded; relu and dropout work in place and so store no features. Left out:
// alexnet (another network: 96 channels, groups, lrn) and googlenet (with auxiliary heads).
struct Burden {
  const char* row;
  const char* preset;
  double parameters_mib;
  double features_mib;
};
constexpr Burden kBurden[] = {
    {"burden-vgg16", "vgg16", 528, 58},
    {"burden-vgg19", "vgg19", 548, 63},
    {"burden-resnet-50", "resnet50", 98, 103},
    {"burden-resnet-101", "resnet101", 170, 155},
    {"burden-resnet-152", "resnet152", 230, 219},
    {"burden-inception-v3", "inception3", 91, 89},
    {"burden-densenet121", "densenet121", 31, 126},
};

double layers_of_kind(const Network& network, LayerKind kind)
{
  double count = 0;
  for (const Layer& layer : network.layers)
    count += layer.kind == kind;
  return count;
}

} // namespace

TEST_CASE("shipped networks have the published totals", "[models][network]")
{
  const Published row = GENERATE(from_range(std::begin(kPublished), std::end(kPublished)));
  CAPTURE(row.row);
  const Network network = load_network(std::string(row.preset));
  const NetworkTotals sum = totals(network);
  CHECK(network.name == row.preset);
  CHECK(network.samples == "images");
  CHECK(sum.parameters == row.parameters);
  CHECK(sum.gradient_bytes_fp32.value() == row.gradient_bytes);
  CHECK(sum.gradient_tensors == row.tensors);
  CHECK(std::abs(sum.macs / 1e9 - row.gmac) < 0.0005);
}

TEST_CASE("networks have the parameters and operations that their documentation tells",
          "[models][network]")
{
  const Documented row = GENERATE(from_range(std::begin(kDocumented), std::end(kDocumented)));
  CAPTURE(row.preset);
  const NetworkTotals sum = totals(load_network(std::string(row.preset)));
  CHECK(sum.parameters == row.parameters);
  CHECK(std::abs(sum.macs / 1e9 - row.gmac) <= 0.005 + 0.005 * row.gmac);
}

TEST_CASE("detectors and segmentation networks are those of their code", "[models][network]")
{
  const Counted row = GENERATE(from_range(std::begin(kCounted), std::end(kCounted)));
  CAPTURE(row.preset);
  const NetworkTotals sum = totals(load_network(std::string(row.preset)));
  CHECK(sum.parameters == row.parameters);
  CHECK(sum.gradient_tensors == row.tensors);
  CHECK(std::abs(sum.macs / 1e9 - row.gmac) < 0.0001);
}

// Six layers of H = 1024 on each side, no biases in attention, one table of 33712 joined words
// (transformer_wmt_en_de_big_t2t with --share-all-embeddings).
TEST_CASE("Transformer (big) has the parameters of its code and the products of its paper",
          "[models][network]")
{
  const Network network = load_network("transformer-big");
  const NetworkTotals sum = totals(network);
  CHECK(network.samples == "sequences");
  const double h = 1024;
  const double encoder = (4 + 8) * h * h + 5 * h + 2 * 2 * h; // biases of feed-forward, two norms
  const double decoder = (8 + 8) * h * h + 5 * h + 3 * 2 * h;
  CHECK(static_cast<double>(sum.parameters) ==
        Approx(33712 * h + 6 * (encoder + decoder) + 2 * 2 * h).epsilon(1e-12));
  const double t = 30;
  const double projections = 6 * (4 + 8) * h * h + 2 * 6 * 8 * h * h; // attention and feed-forward
  const double scores = 3 * 6 * 2 * t * h;
  CHECK(sum.macs == Approx(t * (projections + scores + h * 33712)).epsilon(1e-12));
}

// 191,950,298 parameters (192 M) has MemTransformerLM of wt103_base.yaml: the table, 16 layers, the
// output's biases, vectors u and v and those of the three clusters, which the file leaves out.
TEST_CASE("Transformer-XL has the parameters of its code and attends to its memory",
          "[models][network]")
{
  const NetworkTotals sum = totals(load_network("transformer-xl-base"));
  const double h = 512;
  const double vectors = 2 * h + 3 * h;
  CHECK(std::abs(static_cast<double>(sum.parameters) + vectors - 191950298) < 1);
  const double t = 192;
  const double mem = 192;
  const double macs =
      16 * ((t + mem) * 3 * h * h + 3 * t * (t + mem) * h + t * h * h + t * 8 * h * h) +
      h * (t * 20000 + 2 * 20000 + 3 * 160000 + 67738);
  CHECK(sum.macs == Approx(macs).epsilon(1e-12));
}

TEST_CASE("U-Net has the parameters of its figure", "[models][network]")
{
  // Two convolutions on each level down and up, with biases; a transposed one between two levels.
  std::int64_t expected = 2 * 64 + 2;
  for (std::int64_t c = 64, in = 1; c <= 1024; in = c, c *= 2) {
    expected += 9 * c * in + c + 9 * c * c + c;
    if (c < 1024)
      expected += 4 * 2 * c * c + c + 9 * 2 * c * c + c + 9 * c * c + c;
  }
  CHECK(totals(load_network(std::string("unet"))).parameters == expected);
}

TEST_CASE("feature and parameter memory is that of convnet-burden", "[models][network]")
{
  const Burden row = GENERATE(from_range(std::begin(kBurden), std::end(kBurden)));
  CAPTURE(row.row);
  const Network network = load_network(std::string(row.preset));
  double features = 0;
  for (const Layer& layer : network.layers)
    if (layer.op != "relu" && layer.op != "dropout")
      features += static_cast<double>(layer.output_elements);
  const NetworkTotals sum = totals(network);
  const auto stored = static_cast<double>(sum.parameters + sum.state_elements);
  CHECK(std::abs(features * 4 / 1048576 - row.features_mib) <= 0.5);
  CHECK(std::abs(stored * 4 / 1048576 - row.parameters_mib) <= 0.5);
}

TEST_CASE("every preset loads, and says what it is made of", "[models][network]")
{
  const auto names = preset_names(kNetworkKind);
  CHECK(names.size() >= 13);
  for (const std::string& name : names) {
    CAPTURE(name);
    const Value preset = resolve_preset(name, kNetworkKind);
    CHECK(preset.json().contains("source"));
    CHECK(preset.json().at("format") == "foretrain.network/1");
    if (preset.json().contains("transformer"))
      continue; // tests/models/transformer
    CHECK(load_network(preset).layers.size() > 10);
  }
}

TEST_CASE("ResNet-50 is 53 convolutions, each normalised, and one classifier", "[models][network]")
{
  const Network network = load_network("resnet50");
  CHECK(layers_of_kind(network, LayerKind::conv) == 53);
  CHECK(layers_of_kind(network, LayerKind::norm) == 53);
  CHECK(layers_of_kind(network, LayerKind::linear) == 1);
  CHECK(network.layers.front().output == Shape::image(64, 112, 112));
  CHECK(network.layers.back().output == Shape::vector(1001));
  CHECK(network.layers.back().name == "classifier");
}

// BertForPreTraining, with L layers of width H, vocabulary V = 30522, 512 positions, 2 segments.
// The parameters are those of the checkpoints bert-base-uncased and bert-large-uncased on the
// Hugging Face hub (safetensors metadata).
TEST_CASE("BERT has the parameters of its checkpoints and the GEMMs of its paper",
          "[models][network]")
{
  struct Case {
    const char* preset;
    double layers, hidden;
    std::int64_t parameters, tensors;
  };
  const auto c = GENERATE(Case{"bert-base", 12, 768, 110106428, 206},
                          Case{"bert-large", 24, 1024, 336226108, 398});
  const int tokens = GENERATE(64, 128, 512);
  CAPTURE(c.preset, tokens);
  const auto document =
      parse_document("{\"extends\": \"" + std::string(c.preset) +
                         "\", \"input\": {\"tokens\": " + std::to_string(tokens) + "}}",
                     "longer.json");
  const Network network = load_network(resolve_preset(Value(document), kNetworkKind));
  const NetworkTotals sum = totals(network);
  CHECK(network.samples == "sequences");
  CHECK(sum.parameters == c.parameters);
  CHECK(sum.gradient_tensors == c.tensors);

  // Forward part of equation 2 in Narayanan et al., arXiv:2104.04473 (there in FLOP with
  // recomputation): 12 s L H^2 (1 + s / 6H) + s H V, and what it leaves out: MLM transform, pooler,
  // next sentence.
  const double s = tokens;
  const double h = c.hidden;
  const double encoder = 12 * s * c.layers * h * h * (1 + s / (6 * h));
  CHECK(sum.macs == Approx(encoder + s * h * 30522 + s * h * h + h * h + 2 * h).epsilon(1e-12));
}

TEST_CASE("BERT of 128 tokens predicts the 20 that are masked", "[models][network]")
{
  struct Case {
    const char* preset;
    double layers, hidden;
    std::int64_t parameters;
  };
  const auto c = GENERATE(Case{"bert-base-128", 12, 768, 110106428},
                          Case{"bert-large-128", 24, 1024, 336226108});
  CAPTURE(c.preset);
  const NetworkTotals sum = totals(load_network(c.preset));
  CHECK(sum.parameters == c.parameters);
  const double s = 128;
  const double h = c.hidden;
  const double encoder = 12 * s * c.layers * h * h * (1 + s / (6 * h));
  CHECK(sum.macs == Approx(encoder + 20 * h * 30522 + 20 * h * h + h * h + 2 * h).epsilon(1e-12));
}

TEST_CASE("BERT files default to the 64 tokens of ddl-benchmarks", "[models][network]")
{
  CHECK(load_network("bert-base").input == Shape::ids(64));
  CHECK(load_network("bert-large").input == Shape::ids(64));
}

TEST_CASE("parameters of networks with several inputs, and of a small V-Net", "[models][network]")
{
  // facebook/bart-large has 406,291,456. The UNet of stabilityai/stable-diffusion-2 has
  // 865,910,724, of which the biases of 32 attentions' outputs are left out: twice 5 x (320 + 640)
  // + 6 x 1280.
  CHECK(totals(load_network("bart-large")).parameters == 406291456);
  const NetworkTotals diffusion = totals(load_network("stable-diffusion-2"));
  CHECK(diffusion.parameters == 865910724 - 2 * (5 * (320 + 640) + 6 * 1280));
  // The text encoder, which is not trained: tables, 23 layers of 12 width^2 + 13 width, the last
  // normalisation.
  CHECK(diffusion.state_elements ==
        1024 * (49408 + 77) + 23 * (12 * 1024 * 1024 + 13 * 1024) + 2 * 1024);
  // google/electra-base-discriminator without its head: BERT-base's 109,482,240 without its pooler.
  // The head; the generator: a projection, twelve layers of 12 width^2 + 13 width, its own head.
  const std::int64_t generator =
      768 * 256 + 256 + 12 * (12 * 256 * 256 + 13 * 256) + 256 * 768 + 3 * 768 + 30522;
  CHECK(totals(load_network("electra-base")).parameters ==
        109482240 - (768 * 768 + 768) + (768 * 768 + 768) + 768 + 1 + generator);
  // mem_transformer.py: layers without biases of u and v, tables, their projections, the output's
  // and its biases but for those of the three clusters; three shared projections are told twice.
  const std::int64_t layer = 5 * 1024 * 1024 + 2 * 1024 * 4096 + 4096 + 1024 + 4 * 1024;
  const std::int64_t tables = 19997 * 1024 + 20000 * 256 + 160000 * 64 + 67738 * 16;
  CHECK(totals(load_network("transformer-xl-large")).parameters ==
        18 * layer + tables + 1024 * (1024 + 256 + 64 + 16) + 1024 * (1024 + 256 + 64 + 16) +
            267735);
  // V-Net: k^3 m n weights, n biases, gamma and beta of each.
  const auto conv = [](std::int64_t kernel, std::int64_t from, std::int64_t to) {
    return kernel * kernel * kernel * from * to + 3 * to;
  };
  CHECK(totals(load_network("vnet")).parameters ==
        conv(3, 1, 16) + conv(2, 16, 32) + 3 * conv(3, 32, 32) + conv(2, 32, 64) +
            3 * conv(3, 64, 64) + conv(2, 64, 128) + 3 * conv(3, 128, 128) + conv(2, 128, 64) +
            3 * conv(3, 128, 128) + conv(2, 128, 32) + 3 * conv(3, 64, 64) + conv(2, 64, 16) +
            27 * 16 * 3 + 3);
}

} // namespace foretrain::network_presets_test
