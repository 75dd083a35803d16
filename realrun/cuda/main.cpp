#include "realrun/cuda/train.hpp"

int main(int argc, char** argv)
{
  using namespace foretrain::realrun;
  constexpr Verb verbs[] = {
      {"train", "MODEL.json", "train and write a record", &train_on_cuda},
      {"micro", "gemm|elementwise|copy|launch|all-reduce", "measure one curve", &micro_on_cuda},
      {"make-data", "FOLDER [encoding=raw|jpeg] [count=N] [side=N] [classes=N] ...",
       "write a folder of samples", &make_data},
  };
  return run_program(argc, argv, "realrun-cuda", verbs);
}
