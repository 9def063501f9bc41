#pragma once

#include "vitruvian/train/ranks/ranks.hpp"

#include <functional>
#include <span>
#include <string>

// The only room that knows MPI, which launches processes, carries their messages and ends them. In
// what order numbers are added is decided in train/lane_sum.hpp.

namespace vitruvian {

/// Runs `body` with the ranks that mpirun or srun started, or with one rank where nobody did: then
/// it is as if there were no MPI. `before` comes first: MPI begins after it, and a program may
/// still go on in another. MPI ends when `body` returns. Whatever either throws on one of several
/// ranks ends all: `program` says one sentence, which names the rank unless it is rank 0.
void with_mpi_ranks(const std::string& program, const std::function<void()>& before,
                    const std::function<void(Ranks& ranks)>& body);

/// The sum over all ranks, in whatever order MPI has it: what ours is measured against. Only of
/// ranks that MPI started.
void sum_by_mpi(std::span<float> numbers);

}  // namespace vitruvian
