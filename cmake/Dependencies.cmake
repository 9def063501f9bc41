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

# vitruvian_find(NAME PACKAGE [COMPONENTS...]): sets VITRUVIAN_HAS_NAME; with -DVITRUVIAN_NAME=OFF
# nobody looks.
macro(vitruvian_find name package)
  set(VITRUVIAN_HAS_${name} OFF)
  if(VITRUVIAN_${name})
    find_package(${package} ${ARGN})
    set(VITRUVIAN_HAS_${name} ${${package}_FOUND})
  endif()
endmacro()

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
vitruvian_find(JPEG JPEG)
# What writes models for other programs to run.
set(VITRUVIAN_HAS_ONNX OFF)
if(VITRUVIAN_ONNX)
  vitruvian_import(onnx_proto onnx/onnx_pb.h onnx_proto)
  vitruvian_import(protobuf google/protobuf/message.h protobuf)
  if(VITRUVIAN_HAS_ONNX_PROTO AND VITRUVIAN_HAS_PROTOBUF)
    set(VITRUVIAN_HAS_ONNX ON)
  endif()
endif()
# What fetches data sets: downloads, checksums, and the archives that some come in.
vitruvian_find(CURL CURL)
vitruvian_find(OPENSSL OpenSSL COMPONENTS Crypto)
vitruvian_find(LIBARCHIVE LibArchive)
# What starts a training run as several processes and carries their messages.
set(MPI_CXX_SKIP_MPICXX ON) # the C interface is all that is asked for
vitruvian_find(MPI MPI COMPONENTS CXX)
