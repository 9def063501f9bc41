# What the project is built on. xtensor's headers are a system include: their warnings are not ours.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
set(VITRUVIAN_HAS_ZLIB ON) # a page in a browser has neither
set(VITRUVIAN_HAS_PNG ON)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(xtensor REQUIRED) # before xtensor-blas, whose package forgets to look for it
find_path(VITRUVIAN_CXXBLAS_INCLUDE xflens/cxxblas/cxxblas.cxx
          DOC "Where xtensor-blas keeps its cxxblas layer")
mark_as_advanced(VITRUVIAN_CXXBLAS_INCLUDE)

include(cmake/Imported.cmake)
set(VITRUVIAN_HAS_ONEDNN OFF)
if(VITRUVIAN_ONEDNN)
  vitruvian_import(onednn oneapi/dnnl/dnnl.h dnnl)
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

# What reads other people's files: .npz weights and JPEG. Without one of them the program says
# so when it meets such a file.
set(VITRUVIAN_HAS_LIBZIP OFF)
if(VITRUVIAN_LIBZIP)
  vitruvian_import(libzip zip.h zip)
endif()
set(VITRUVIAN_HAS_JPEG OFF)
if(VITRUVIAN_JPEG)
  find_package(JPEG)
  set(VITRUVIAN_HAS_JPEG ${JPEG_FOUND})
endif()
# What fetches data sets: downloads, checksums, and the archives that some come in.
set(VITRUVIAN_HAS_CURL OFF)
if(VITRUVIAN_CURL)
  find_package(CURL)
  set(VITRUVIAN_HAS_CURL ${CURL_FOUND})
endif()
set(VITRUVIAN_HAS_OPENSSL OFF)
if(VITRUVIAN_OPENSSL)
  find_package(OpenSSL COMPONENTS Crypto)
  set(VITRUVIAN_HAS_OPENSSL ${OPENSSL_FOUND})
endif()
set(VITRUVIAN_HAS_LIBARCHIVE OFF)
if(VITRUVIAN_LIBARCHIVE)
  find_package(LibArchive)
  set(VITRUVIAN_HAS_LIBARCHIVE ${LibArchive_FOUND})
endif()
# What starts a training run as several processes and carries their messages.
set(VITRUVIAN_HAS_MPI OFF)
if(VITRUVIAN_MPI)
  set(MPI_CXX_SKIP_MPICXX ON) # the C interface is all that is asked for
  find_package(MPI COMPONENTS CXX)
  set(VITRUVIAN_HAS_MPI ${MPI_CXX_FOUND})
endif()
