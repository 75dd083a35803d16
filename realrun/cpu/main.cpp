#include "realrun/cpu/train.hpp"

int main(int argc, char** argv)
{
  using namespace foretrain::realrun;
  constexpr Verb verbs[] = {
      {"train", "MODEL.json", "train and write a record", &train_on_cpu},
      {"micro", "gemm|elementwise|copy|all-reduce|input", "measure one curve", &micro_on_cpu},
      {"make-data", "FOLDER [encoding=raw|jpeg] [count=N] [side=N] [classes=N] ...",
       "write a folder of samples", &make_data},
  };
  return run_program(argc, argv, "realrun-cpu", verbs);
}
