#include "vitruvian/mpi/mpi_ranks.hpp"

#include "vitruvian/core/base/console.hpp"
#include "vitruvian/core/base/error.hpp"
#include "vitruvian/core/base/parallel.hpp"

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace vitruvian {
namespace {

// This rank, by whoever starts processes of MPI: Open MPI, PMIx (srun --mpi=pmix), and PMI (MPICH's
// mpiexec, srun --mpi=pmi2) say it in the environment. Null where nobody did: MPI_Init would take a
// tenth of a second for nothing.
const char* launched() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* const rank = std::getenv(name)) return rank;
  }
  return nullptr;
}

// What is wrong everywhere rank 0 says for all, and ends them before the others speak.
void leave_it_to_rank_0() { std::this_thread::sleep_for(std::chrono::seconds(2)); }

// Ends all ranks. MPICH's launcher ends with them, and what was said just before would be lost.
void abort_all(int code) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  MPI_Abort(MPI_COMM_WORLD, code);
}

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    if (level < MPI_THREAD_SERIALIZED) {
      fail("this MPI cannot be used by one thread after the other: it was built without threads");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    int neighbours = 1;
    MPI_Comm_size(here, &neighbours);
    MPI_Comm_free(&here);
    crowded_ = static_cast<std::size_t>(neighbours) > processors_of_machine();
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    host_.assign(name.data(), static_cast<std::size_t>(length));
  }

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(size_); }
  [[nodiscard]] std::string host() const override { return host_; }

  Ticket send(std::size_t to, std::span<const std::byte> bytes, Tag tag) override {
    const Ticket ticket = free_one();
    MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(to), tag,
              MPI_COMM_WORLD, &requests_[ticket]);
    return ticket;
  }

  Ticket receive(std::size_t from, std::span<std::byte> bytes, Tag tag) override {
    const Ticket ticket = free_one();
    MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, static_cast<int>(from), tag,
              MPI_COMM_WORLD, &requests_[ticket]);
    return ticket;
  }

  bool test(Ticket ticket) override {
    int done = 0;
    MPI_Test(&requests_[ticket], &done, MPI_STATUS_IGNORE);
    if (done != 0) free_.push_back(ticket);
    return done != 0;
  }

 private:
  // Where ranks share a core, the one that is waited for must get it: MPI_Wait would keep it.
  void complete(Ticket ticket) override {
    if (crowded_) {
      while (!test(ticket)) std::this_thread::yield();
    } else {
      MPI_Wait(&requests_[ticket], MPI_STATUS_IGNORE);
      free_.push_back(ticket);
    }
  }

  Ticket free_one() {
    if (free_.empty()) {
      requests_.push_back(MPI_REQUEST_NULL);
      return requests_.size() - 1;
    }
    const Ticket ticket = free_.back();
    free_.pop_back();
    return ticket;
  }

  int rank_ = 0, size_ = 1;
  bool crowded_ = false;  // more ranks on this machine than processors
  std::string host_;
  std::vector<MPI_Request> requests_;
  std::vector<Ticket> free_;
};

}  // namespace

void with_mpi_ranks(const std::string& program, const std::function<void()>& before,
                    const std::function<void(Ranks& ranks)>& body) {
  const char* const its_rank = launched();
  try {
    before();
  } catch (const Error& error) {
    if (its_rank == nullptr || std::string(its_rank) == "0") throw;
    leave_it_to_rank_0();
    fail(error.exit(), "rank {}: {}", its_rank, error.what());
  }
  if (its_rank == nullptr) return body(one_rank());
  MpiRanks ranks;
  const bool first = ranks.rank() == 0;
  const int code =
      console::run(first ? program : fmt::format("{}: {}", program, name_of(ranks)), [&] {
        try {
          body(ranks);
        } catch (...) {
          if (!first) leave_it_to_rank_0();
          throw;
        }
        return 0;
      });
  if (code != 0) abort_all(code);
  MPI_Finalize();
}

void sum_by_mpi(std::span<float> numbers) {
  MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

}  // namespace vitruvian
