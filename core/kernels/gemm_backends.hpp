#pragma once

#include "vitruvian/core/kernels/gemm.hpp"

// The back ends that are libraries. Sizes are at least 1; the product runs on the calling thread.

namespace vitruvian::kernels {

/// The threads are ours: a library that started its own in each of them would fight us. Called
/// before every product; costs something in a thread's first.
void keep_libraries_on_this_thread();

bool has_onednn();
void onednn_product(const Gemm<float>& g);
std::string onednn_description();

bool has_cblas();
void cblas_product(const Gemm<float>& g);
void cblas_product(const Gemm<double>& g);
std::string cblas_description();

}  // namespace vitruvian::kernels
