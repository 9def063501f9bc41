# How a room becomes libraries: one of what knows no numbers, and one for each precision of the rest.

set(VITRUVIAN_PRECISIONS f32 f64)

# Our code's own flags: many warnings, and every result is the same on every compiler.
add_library(vitruvian_flags INTERFACE)
target_compile_features(vitruvian_flags INTERFACE cxx_std_20)
target_include_directories(vitruvian_flags INTERFACE ${PROJECT_SOURCE_DIR}) # "lessons/telling/lesson.hpp"
target_compile_options(vitruvian_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Wno-sign-conversion
  $<$<BOOL:${VITRUVIAN_WERROR}>:-Werror>
  -ffp-contract=off # a * b + c rounds twice everywhere; the kernels alone may fuse
  $<$<BOOL:${VITRUVIAN_NATIVE}>:-march=native>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # With its optimiser's eyes g++ sees faults inside xtensor's and the standard library's headers
  # that are none. What such warnings are for, the sanitizers and clang find.
  target_compile_options(vitruvian_flags INTERFACE
    -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread -Wno-restrict
    -Wno-maybe-uninitialized -Wno-free-nonheap-object)
endif()
# Some ninety programs are linked: by gold, where it is, in a third of the time.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold VITRUVIAN_GOLD)
if(VITRUVIAN_GOLD AND NOT VITRUVIAN_SANITIZE)
  target_link_options(vitruvian_flags INTERFACE -fuse-ld=gold)
endif()
if(VITRUVIAN_SANITIZE)
  target_compile_options(vitruvian_flags INTERFACE
    -fsanitize=${VITRUVIAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(vitruvian_flags INTERFACE -fsanitize=${VITRUVIAN_SANITIZE})
endif()

# vitruvian_library(name SOURCES ... [HOT ...] DEPENDS ... [PRIVATE ...] [HEADERS base] [TOGETHER n]): one
# library, static unless BUILD_SHARED_LIBS says otherwise. HOT are the files whose own loops are waited for;
# how the others are compiled, HEADERS and TOGETHER: see vitruvian_compile.
function(vitruvian_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "HEADERS;TOGETHER" "SOURCES;HOT;DEPENDS;PRIVATE")
  add_library(vitruvian_${name} ${ARG_SOURCES})
  add_library(vitruvian::${name} ALIAS vitruvian_${name})
  set_target_properties(vitruvian_${name} PROPERTIES EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(vitruvian_${name} PUBLIC cxx_std_20)
  target_compile_definitions(vitruvian_${name} PUBLIC
    $<$<BOOL:${VITRUVIAN_ASSERT}>:XTENSOR_ENABLE_ASSERT>)
  target_include_directories(vitruvian_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(vitruvian_${name} PUBLIC ${ARG_DEPENDS}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:vitruvian_flags>)
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS base)
  endif()
  vitruvian_compile(vitruvian_${name} ${ARG_HEADERS} ${ARG_TOGETHER})
  if(ARG_HOT)
    set(hot vitruvian_${name}_hot)
    add_library(${hot} OBJECT EXCLUDE_FROM_ALL ${ARG_HOT})
    target_link_libraries(${hot} PRIVATE ${ARG_DEPENDS} ${ARG_PRIVATE} vitruvian_flags)
    target_compile_definitions(${hot} PRIVATE $<TARGET_PROPERTY:vitruvian_${name},COMPILE_DEFINITIONS>)
    target_include_directories(${hot} PRIVATE $<TARGET_PROPERTY:vitruvian_${name},INCLUDE_DIRECTORIES>)
    set_target_properties(${hot} PROPERTIES UNITY_BUILD ${VITRUVIAN_UNITY} UNITY_BUILD_BATCH_SIZE 8)
    target_sources(vitruvian_${name} PRIVATE $<TARGET_OBJECTS:${hot}>)
  endif()
  set_property(GLOBAL APPEND PROPERTY VITRUVIAN_LIBRARIES vitruvian_${name})
endfunction()

# vitruvian_unpackaged(name...): libraries that are not installed.
function(vitruvian_unpackaged)
  get_property(packaged GLOBAL PROPERTY VITRUVIAN_LIBRARIES)
  list(TRANSFORM ARGN PREPEND vitruvian_)
  list(REMOVE_ITEM packaged ${ARGN})
  set_property(GLOBAL PROPERTY VITRUVIAN_LIBRARIES ${packaged})
endfunction()

# vitruvian_room(name SOURCES ... ROOMS ... [HOT ...] [DEPENDS ...] [PRIVATE ...] [TOGETHER n]):
# <name>_f32 and <name>_f64 from the same files. ROOMS are rooms of both precisions below this one, DEPENDS
# libraries without numbers.
function(vitruvian_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TOGETHER" "SOURCES;HOT;ROOMS;DEPENDS;PRIVATE")
  foreach(precision IN LISTS VITRUVIAN_PRECISIONS)
    set(rooms ${ARG_ROOMS})
    list(TRANSFORM rooms REPLACE "(.+)" "vitruvian_\\1_${precision}")
    vitruvian_library(${name}_${precision} SOURCES ${ARG_SOURCES} HOT ${ARG_HOT} DEPENDS ${rooms} ${ARG_DEPENDS}
      PRIVATE ${ARG_PRIVATE} HEADERS ${precision} TOGETHER ${ARG_TOGETHER})
    string(REPLACE f VITRUVIAN_FLOAT definition ${precision})
    target_compile_definitions(vitruvian_${name}_${precision} PUBLIC ${definition})
    if(precision STREQUAL "f64" AND NOT VITRUVIAN_DOUBLE)
      # "no" said here would be heard before what add_subdirectory says
      set_target_properties(vitruvian_${name}_${precision} PROPERTIES EXCLUDE_FROM_ALL YES)
    endif()
  endforeach()
endfunction()

set(VITRUVIAN_OPTIMISATION -Og)
if(EMSCRIPTEN)
  set(VITRUVIAN_OPTIMISATION -Oz) # a page is downloaded
endif()

# vitruvian_compile(target headers [together]). Most code asks the kernels and the HOT files for the work:
# half the compiler's time would go into optimising templates whose speed nobody feels. What nearly all
# of it reads is parsed once: `headers` are f32 or f64, for code with tensors of that precision, base, for
# code that knows none, or json, for such that has JSON in it (70 MB of the compiler's memory, and most of
# a second a time). A header that was parsed at one level of optimisation serves no other, nor one that
# was parsed for a shared library a program. `together` files are compiled as one (16), so that what they all
# make of the standard library's templates is made once, as far as 450 MB of the compiler's memory go.
function(vitruvian_compile target headers)
  set(together 16)
  if(ARGN)
    set(together ${ARGN})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${VITRUVIAN_UNITY} UNITY_BUILD_BATCH_SIZE ${together})
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:${VITRUVIAN_OPTIMISATION}>)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT BUILD_SHARED_LIBS)
    target_precompile_headers(${target} REUSE_FROM vitruvian_precompiled_${headers})
  endif()
endfunction()

# vitruvian_precompiled(headers file library...): the target that such headers belong to, and what they need.
function(vitruvian_precompiled headers file)
  set(target vitruvian_precompiled_${headers})
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/core/precompiled.cpp)
  target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(${target} PRIVATE ${ARGN} vitruvian_flags)
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:${VITRUVIAN_OPTIMISATION}>)
  target_compile_definitions(${target} PRIVATE $<$<BOOL:${VITRUVIAN_ASSERT}>:XTENSOR_ENABLE_ASSERT>
    $<$<STREQUAL:${headers},f64>:VITRUVIAN_FLOAT64> $<$<STREQUAL:${headers},f32>:VITRUVIAN_FLOAT32>)
  target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${file}>")
endfunction()
