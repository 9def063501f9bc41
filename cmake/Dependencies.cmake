# What the project is built on. xtensor's headers are a system include: their warnings are not ours.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(xtensor REQUIRED) # before xtensor-blas, whose package forgets to look for it
find_path(VITRUVIAN_CXXBLAS_INCLUDE xflens/cxxblas/cxxblas.cxx
          DOC "Where xtensor-blas keeps its cxxblas layer")
mark_as_advanced(VITRUVIAN_CXXBLAS_INCLUDE)

set(VITRUVIAN_HAS_ONEDNN OFF)
if(VITRUVIAN_ONEDNN)
  # By hand: Debian's package file of oneDNN insists on OpenCL's headers, which nobody needs here.
  find_path(VITRUVIAN_DNNL_INCLUDE oneapi/dnnl/dnnl.h)
  find_library(VITRUVIAN_DNNL_LIBRARY dnnl)
  mark_as_advanced(VITRUVIAN_DNNL_INCLUDE VITRUVIAN_DNNL_LIBRARY)
  if(VITRUVIAN_DNNL_INCLUDE AND VITRUVIAN_DNNL_LIBRARY)
    set(VITRUVIAN_HAS_ONEDNN ON)
  endif()
endif()

set(VITRUVIAN_HAS_CBLAS OFF)
if(VITRUVIAN_CBLAS)
  find_path(VITRUVIAN_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas)
  find_library(VITRUVIAN_CBLAS_LIBRARY NAMES openblas cblas)
  mark_as_advanced(VITRUVIAN_CBLAS_INCLUDE VITRUVIAN_CBLAS_LIBRARY)
  if(VITRUVIAN_CBLAS_INCLUDE AND VITRUVIAN_CBLAS_LIBRARY)
    set(VITRUVIAN_HAS_CBLAS ON)
  endif()
endif()
