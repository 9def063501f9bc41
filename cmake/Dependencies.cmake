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

# What reads other people's files: .npz weights and pictures. Without one of them the program says
# so when it meets such a file.
set(VITRUVIAN_HAS_LIBZIP OFF)
if(VITRUVIAN_LIBZIP)
  # By hand: Debian's package file of libzip insists on its command line tools.
  find_path(VITRUVIAN_LIBZIP_INCLUDE zip.h)
  find_library(VITRUVIAN_LIBZIP_LIBRARY zip)
  mark_as_advanced(VITRUVIAN_LIBZIP_INCLUDE VITRUVIAN_LIBZIP_LIBRARY)
  if(VITRUVIAN_LIBZIP_INCLUDE AND VITRUVIAN_LIBZIP_LIBRARY)
    set(VITRUVIAN_HAS_LIBZIP ON)
  endif()
endif()
set(VITRUVIAN_HAS_PNG OFF)
if(VITRUVIAN_PNG)
  find_package(PNG)
  set(VITRUVIAN_HAS_PNG ${PNG_FOUND})
endif()
set(VITRUVIAN_HAS_JPEG OFF)
if(VITRUVIAN_JPEG)
  find_package(JPEG)
  set(VITRUVIAN_HAS_JPEG ${JPEG_FOUND})
endif()
