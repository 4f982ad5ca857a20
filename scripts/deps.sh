#!/usr/bin/env bash
# Makes sure that the tools named as arguments are here: redis-server, cc (a C compiler, for go test -race),
# curl, make, node, npm, python3-urllib3, redis-benchmark, wrk. Installs what is missing on Debian and Ubuntu; elsewhere says what is missing, and exits with 1.
set -euo pipefail

# The compiler that go uses, and the C library's headers: Debian's gcc comes without them.
have_cc() {
  printf '#include <stdlib.h>\nint main(void) { return 0; }\n' |
    ${CC:-$(go env CC)} -x c -o /dev/null - 2>/dev/null
}

have() {
  case $1 in
    cc) have_cc ;;
    python3-urllib3) /usr/bin/python3 -c 'import urllib3' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=()
for tool in "$@"; do
  have "$tool" || missing+=("$tool")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

help() {
  echo "missing: ${missing[*]}. $1" >&2
  for tool in "${missing[@]}"; do
    case $tool in
      redis-server) echo "  redis-server: Redis 7 or later; brew install redis, dnf install redis, apk add redis" ;;
      cc) echo "  cc: a C compiler and the C library's headers; xcode-select --install, dnf install gcc glibc-devel, apk add gcc musl-dev" ;;
      redis-benchmark) echo "  redis-benchmark: comes with redis-server, or with Redis' tools" ;;
      wrk) echo "  wrk: github.com/wg/wrk; brew install wrk, dnf install wrk, apk add wrk" ;;
      make) echo "  make: brew install make, dnf install make, apk add make" ;;
      *) echo "  $tool" ;;
    esac
  done >&2
  exit 1
}

command -v apt-get >/dev/null || help "Install by hand:"

# Without a terminal sudo must not ask for a password.
root=(env)
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || help "Run this as root, or install by hand:"
  root=(sudo)
  [ -t 0 ] || root+=(-n)
  root+=(env)
fi

packages=()
for tool in "${missing[@]}"; do
  case $tool in
    cc) packages+=(gcc libc6-dev) ;;
    node) packages+=(nodejs) ;;
    redis-benchmark) packages+=(redis-tools) ;;
    *) packages+=("$tool") ;;
  esac
done

# NEEDRESTART_SUSPEND: Ubuntu's needrestart would restart services that are not ours.
apt() {
  "${root[@]}" DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    apt-get -y -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Debian starts a service when it is installed. Tests start a redis-server of their own, and whatever uses
# port 6379 on this machine is none of our business, so the service stays down, now and after a reboot. A
# policy that is already there is somebody's, and is left alone; then the service is stopped afterwards.
policy=/usr/sbin/policy-rc.d
wrote_policy=
cleanup() {
  if [ -n "$wrote_policy" ]; then
    "${root[@]}" rm -f "$policy"
  fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
keep_service_down() {
  if [ ! -e "$policy" ]; then
    wrote_policy=1
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee "$policy" >/dev/null
    "${root[@]}" chmod 755 "$policy"
  fi
}
take_service_down() {
  [ -e /etc/init.d/redis-server ] || return 0
  "${root[@]}" update-rc.d redis-server disable || true
  if [ -z "$wrote_policy" ]; then
    "${root[@]}" service redis-server stop >/dev/null 2>&1 || true
  fi
}

install() {
  apt update || echo "apt-get update failed; some other source may be at fault" >&2
  apt install --no-install-recommends "${packages[@]}"
}

echo "installing ${packages[*]}"
case " ${missing[*]} " in *" redis-server "*) keep_service_down ;; esac
if ! install; then
  echo "apt-get failed; trying once more" >&2
  sleep 5
  install || help "apt-get failed; install by hand:"
fi
case " ${missing[*]} " in *" redis-server "*) take_service_down ;; esac

for tool in "${missing[@]}"; do
  have "$tool" || help "apt-get succeeded, but something is not usable:"
done
