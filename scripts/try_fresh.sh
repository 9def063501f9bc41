#!/usr/bin/env bash
# Goes through both commands of the README from nothing, as newcomers do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<USAGE
usage: scripts/try_fresh.sh [COMBINATION]...       (as root, on Debian or Ubuntu, with debootstrap)

For each COMBINATION, a word such as 13-root-g++, makes a Debian of that release with nothing in it
but the compiler (clang; g++ is left to start.sh), and no curl, wget or python3; there
scripts/start.sh --epochs 1 and scripts/test.sh are run, by root or by a user who may not install.
The user's checkout has a space and an umlaut in its path, and a build/ of another place, generator
and compiler in it. Some ten minutes each on two cores; the first that fails ends it.

Without a COMBINATION: 13-root-g++ 13-user-clang 12-user-g++ 12-root-clang

  VITRUVIAN_MIRROR      where Debian comes from: $mirror
  VITRUVIAN_APT_CONF    a file of apt's settings (a proxy, say) to use there
  VITRUVIAN_FRESH       the folder in which this happens: $place
USAGE
}

mirror=${VITRUVIAN_MIRROR:-http://deb.debian.org/debian}
place=${VITRUVIAN_FRESH:-/var/tmp/vitruvian-fresh}

# enter FOLDER USER COMMAND...: in a mount namespace of its own, so that nothing stays mounted and
# deleting FOLDER can never reach the machine's own files.
enter() {
  unshare --mount bash -euc '
    root=$1 user=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount -t tmpfs dev "$root/dev" -o mode=755
    for node in null zero full random urandom tty; do
      touch "$root/dev/$node"
      mount --bind "/dev/$node" "$root/dev/$node"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=666
    mount -t tmpfs shm "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    home=/root
    [ "$user" = root ] || home=/home/$user
    exec chroot --userspec="$user" "$root" /usr/bin/env -i HOME="$home" LANG=C.UTF-8 TERM=dumb \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ' enter "$@" </dev/null
}

try() { # try RELEASE USER COMPILER
  local release=$1 user=$2 compiler=$3 suite root begin=$SECONDS source command
  case $release in 12) suite=bookworm ;; 13) suite=trixie ;; *) usage && exit 2 ;; esac
  root=$place/$release-$user-$compiler
  rm -rf "$root"
  mkdir -p "$root"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" || { tail "$root.log" && exit 1; }
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  [ -z "${VITRUVIAN_APT_CONF-}" ] || cp "$VITRUVIAN_APT_CONF" "$root/etc/apt/apt.conf.d/99here"
  enter "$root" root apt-get update -qq
  if [ "$compiler" = clang ]; then
    enter "$root" root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends clang >>"$root.log"
  fi
  source=/root/vitruvian
  if [ "$user" != root ]; then
    enter "$root" root useradd --create-home "$user"
    source="/home/$user/ein Entwürf/vitruvian"
  fi
  mkdir -p "$root$source"
  git ls-files -co --exclude-standard -z | tar -c --null --ignore-failed-read -T - | tar -x -C "$root$source"
  if [ "$user" != root ]; then
    mkdir "$root$source/build"
    printf '%s\n' CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere CMAKE_CACHEFILE_DIR:INTERNAL=/elsewhere/build \
      "CMAKE_GENERATOR:INTERNAL=Unix Makefiles" CMAKE_CXX_COMPILER:FILEPATH=/usr/bin/g++-4.8 \
      >"$root$source/build/CMakeCache.txt"
    enter "$root" root chown -R "$user:$user" "/home/$user"
    # What to install is said, and is right.
    if enter "$root" "$user" "$source/scripts/start.sh" >"$root.log"; then
      echo "start.sh succeeds without its packages" && exit 1
    fi
    command=$(sed -n 's/^ *\(apt-get install .*\)/\1/p' "$root.log")
    [ -n "$command" ] || { cat "$root.log" && exit 1; }
    # shellcheck disable=SC2086 # words
    enter "$root" root env DEBIAN_FRONTEND=noninteractive $command -y -qq >>"$root.log"
  fi
  say "ready" "$begin"
  enter "$root" "$user" "$source/scripts/start.sh" --epochs 1
  say "start.sh" "$begin"
  enter "$root" "$user" "$source/scripts/test.sh"
  say "test.sh" "$begin"
  for command in curl wget python3; do
    ! enter "$root" root sh -c "command -v $command" || { echo "there is a $command" && exit 1; }
  done
  rm -rf "$root" "$root.log"
}
say() { printf '##### %s: %s at %d s\n' "$name" "$1" $((SECONDS - $2)); }

case ${1-} in --help | -h) usage && exit 0 ;; esac
[ $# -gt 0 ] || set -- 13-root-g++ 13-user-clang 12-user-g++ 12-root-clang
for name in "$@"; do
  IFS=- read -r release user compiler <<<"$name"
  case $user-$compiler in
    root-g++ | root-clang) ;;
    user-g++ | user-clang) user=newcomer ;;
    *) usage && exit 2 ;;
  esac
  try "$release" "$user" "$compiler"
done
echo "both commands work from nothing: $*"
