#!/usr/bin/env bash
# What each part of the speed buys: the training step with one thing switched off at a time, in
# turns, medians. Prints a Markdown table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<USAGE
usage: bench/switches.sh [--rounds R] [--seconds S]

Runs build/bin/bench_train at the MNIST and CIFAR shapes as it is, and with one thing switched off.
USAGE
}

rounds=3
seconds=3
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=${2:?--rounds needs a number} && shift ;;
    --seconds) seconds=${2:?--seconds needs a number} && shift ;;
    --help | -h) usage && exit 0 ;;
    *) printf 'bench/switches.sh: there is no option %s; see --help\n' "$1" >&2 && exit 2 ;;
  esac
  shift
done
[ -x build/bin/bench_train ] || cmake --build --preset default --target bench_train >&2

# What is switched off | bench_train's flags | the environment
switches=(
  "nothing||"
  "oneDNN: our own packed product||VITRUVIAN_GEMM=packed"
  "AVX-512: AVX2 kernels and packed product||VITRUVIAN_GEMM=packed VITRUVIAN_SIMD=avx2"
  "all vectors beyond SSE2, and oneDNN||VITRUVIAN_GEMM=packed VITRUVIAN_SIMD=sse2"
  "micro-batches: op by op over the whole batch|--micro-batch 100000|"
  "fused ops: the readable twins|--composed|"
  "the second thread|--threads 1|"
)

measure() { # measure SHAPE FLAGS ENVIRONMENT: images a second
  # shellcheck disable=SC2086 # flags and variables are meant to split into words
  env $3 build/bin/bench_train --shape "$1" --seconds "$seconds" $2 | sed 's/.*: \([0-9.]*\) img.*/\1/'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for ((round = 1; round <= rounds; ++round)); do
  for i in "${!switches[@]}"; do
    IFS='|' read -r what flags environment <<<"${switches[i]}"
    for shape in mnist cifar; do
      printf 'round %d of %d: %s without %s\n' "$round" "$rounds" "$shape" "$what" >&2
      measure "$shape" "$flags" "$environment" >>"$folder/$shape.$i"
    done
  done
done

printf '| switched off | MNIST shape, img/s | step takes | CIFAR shape, img/s | step takes |\n'
printf '|---|---|---|---|---|\n'
for i in "${!switches[@]}"; do
  IFS='|' read -r what _ <<<"${switches[i]}"
  line="| $what"
  for shape in mnist cifar; do
    whole=$(median <"$folder/$shape.0")
    now=$(median <"$folder/$shape.$i")
    line+=$(awk -v a="$whole" -v b="$now" 'BEGIN { printf " | %.0f | x %.2f", b, a / b }')
  done
  printf '%s |\n' "$line"
done
