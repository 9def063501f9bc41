#!/usr/bin/env bash
# A run is killed at system calls that touch its directory, or they fail: no checkpoint is lost, no
# error swallowed, nothing half-done left. Usage: faults_test.sh PATH/TO/vitruvian [EVERY]: of the
# calls, every so many are tried (1: all).
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
every=${2:-43}
strace -o /dev/null true 2>/dev/null || skip "strace does not work here"
[ "$every" -gt 1 ] || skip_unless_slow
settings=(--train-size 40 --test-size 20 --epochs 2 --width 16 --depth 1 --heads 2 --batch-size 16
  --log-every 1 --checkpoint-every 2 --threads 1)
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # it cannot look under strace
calls=openat,write,pwrite64,fsync,close,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,ftruncate,flock

"$vitruvian" train "${settings[@]}" --out calm >out 2>&1 || fail "$(cat out)"

# Which calls touch the directory: the name of each, and its number among those of that name.
strace -f -y -o trace -e trace=$calls "$vitruvian" train "${settings[@]}" --out "$folder/run" \
  >out 2>&1 || fail "$(cat out)"
awk -v folder="$folder/run" '{
    call = $2; sub(/\(.*/, "", call)
    if (call !~ /^[a-z0-9]+$/) next
    n[call]++
    if (index($0, folder)) print call, n[call]
  }' trace >touching
[ "$(wc -l <touching)" -gt 40 ] || fail "only $(wc -l <touching) calls touch the directory"

go_on() { # after what was done to a run: it can always go on, or begin
  if [ -e run/config.json ]; then
    "$vitruvian" train --resume run >out 2>err || fail "$1: cannot go on: $(cat err)"
  else
    rm -rf run
    "$vitruvian" train "${settings[@]}" --out run >out 2>err || fail "$1: cannot begin: $(cat err)"
  fi
  for file in model.safetensors metrics.jsonl checkpoints/last.safetensors checkpoints/best.safetensors; do
    cmp run/$file calm/$file || fail "$1: $file differs"
  done
  [ -z "$(find run -name '*.tmp')" ] || fail "$1: leftovers: $(find run -name '*.tmp')"
}

# A file system that knows no locks is used without; one that fails is not.
for error in ENOLCK EOPNOTSUPP ENOSYS; do
  strace -f -o /dev/null -e trace=flock -e inject=flock:error=$error \
    "$vitruvian" train "${settings[@]}" --out unlocked >out 2>err || fail "$error: $(cat err)"
  cmp unlocked/model.safetensors calm/model.safetensors || fail "$error: another model"
  rm -r unlocked
done
strace -f -o /dev/null -e trace=flock -e inject=flock:error=EIO \
  "$vitruvian" train "${settings[@]}" --out unlocked >out 2>err && fail "trained without its lock"
grep -q 'unlocked: cannot be locked: Input/output error' err || fail "$(cat err)"
[ ! -e unlocked ] || fail "left: $(find unlocked)"

# A path at fault is the user's, 3; a disk that fails or a full table of files is the machine's, 1.
for what in 'config.json EACCES 3' 'config.json EIO 1' 'config.json EMFILE 1' 'checkpoints EACCES 3' \
  'checkpoints EIO 1' 'config.json EINTR:when=1 0'; do
  read -r file error expected <<<"$what"
  strace -f -o /dev/null -P "$folder/calm/$file" -e trace=openat -e inject=openat:error="$error" \
    "$vitruvian" report "$folder/calm" >out 2>err
  code=$?
  [ $code -eq "$expected" ] || fail "$what: exit $code: $(cat err)"
done

tried=0 index=0 swallowed=0
while read -r call n; do
  index=$((index + 1))
  [ $(((index + 3) % every)) -eq 0 ] || continue
  for what in signal=KILL error=ENOSPC error=EIO error=EINTR; do
    rm -rf run
    strace -f -o /dev/null -e trace=$call -e "inject=$call:$what:when=$n" \
      "$vitruvian" train "${settings[@]}" --out "$folder/run" >out 2>err
    code=$?
    name="$call $n $what"
    tried=$((tried + 1))
    case $what in
    signal=KILL) [ $code -eq 137 ] || fail "$name: exit $code" ;;
    *)
      if [ $code -eq 0 ]; then
        swallowed=$((swallowed + 1)) # allowed where it was tried again, or there is a way round it
        [ -z "${VERBOSE-}" ] || echo "met: $name"
        cmp -s run/model.safetensors calm/model.safetensors || fail "$name: swallowed"
      else
        [ $code -eq 1 ] || [ $code -eq 4 ] || fail "$name: exit $code: $(cat err)"
        grep -q "$folder/run" err || fail "$name: the path is not named: $(cat err)"
        [ -z "$(find run -name '*.tmp' 2>/dev/null)" ] || fail "$name: leftovers: $(find run)"
      fi
      ;;
    esac
    [ -d run ] || continue
    go_on "$name"
  done
done <touching
echo "$tried faults at $(wc -l <touching) calls ($swallowed met by another try): no checkpoint lost, no leftovers"
