#include "core/kernels/gemm.hpp"
