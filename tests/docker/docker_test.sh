#!/usr/bin/env bash
# Builds the image for real and tries it as an operator would.
#
#   docker_test.sh TELLTALE ROOT
#
# TELLTALE is the binary on this side of the container's wall, ROOT the
# repository. TELLTALE_DOCKER_ENGINE says which engine to use: a program that
# takes `start` (and prints the DOCKER_HOST to export) and `stop`, or `running`
# for the one that `docker` speaks to already. Exit code 77 (skipped) without.
set -euo pipefail

telltale=$1 root=$2
engine=${TELLTALE_DOCKER_ENGINE:-}
tag="telltale-test"
name="telltale-test-$$"
work=$(mktemp -d)

say() { echo "-- $*"; }
fail() {
  echo "FAILED: $*" >&2
  docker logs "$name" 2>&1 | tail -n 20 >&2 || true
  exit 1
}

# equal WHAT FOUND EXPECTED
equal() { [[ $2 == "$3" ]] || fail "$1: found '$2', expected '$3'"; }

[[ -n $engine ]] || {
  echo "skipped: TELLTALE_DOCKER_ENGINE names no Docker engine"
  exit 77
}

clean_up() {
  docker rm -f "$name" >/dev/null 2>&1 || true
  docker volume rm -f "$name" >/dev/null 2>&1 || true
  if [[ -n ${compose_up:-} ]]; then
    compose down --volumes >/dev/null 2>&1 || true
  fi
  docker image prune -f >/dev/null 2>&1 || true
  [[ $engine == running ]] || "$engine" stop || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 143' TERM INT

if [[ $engine != running ]]; then
  exports=$("$engine" start)
  eval "$exports"
fi

build_image() {
  local revision stage
  say "building the image"
  revision=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)
  # The tags keep the layers of the earlier stages for the next build.
  for stage in toolchain builder; do
    logged docker build -f "$root/docker/Dockerfile" --target "$stage" \
      -t "$tag-$stage" "$root"
  done
  logged docker build -f "$root/docker/Dockerfile" -t "$tag" \
    --build-arg REVISION="$revision" "$root"
}

# logged COMMAND...: its output is shown only when it fails.
logged() {
  if ! "$@" >"$work/build.log" 2>&1; then
    tail -n 40 "$work/build.log" >&2
    fail "$*"
  fi
}

start_container() {
  docker run -d --name "$name" --read-only --cap-drop ALL \
    --security-opt no-new-privileges -v "$name:/var/lib/telltale" \
    -p 127.0.0.1:0:50051 "$tag" >/dev/null
  wait_healthy
}

# Sets `address` once the engine itself has seen the image's HEALTHCHECK pass.
wait_healthy() {
  local tries state
  for ((tries = 0; tries < 120; ++tries)); do
    state=$(docker inspect -f '{{.State.Health.Status}}' "$name")
    [[ $state != healthy ]] || break
    sleep 0.5
  done
  equal "health of the container" "$state" healthy
  address=$(docker port "$name" 50051/tcp | head -n 1)
}

stop_container() {
  local code
  docker stop --time 10 "$name" >/dev/null
  code=$(docker inspect -f '{{.State.ExitCode}}' "$name")
  equal "exit code after docker stop" "$code" 0
}

history_of_flight() {
  "$telltale" history --server "$address" --stream flight --json
}

simulate_flight() {
  "$telltale" simulate --seed 11 --steps 1500 --faults \
    --out "$work/flight.csv" --labels "$work/labels.csv"
}

test_image() {
  local image rows
  simulate_flight

  say "the image says what it is"
  image=$(docker image inspect -f \
    '{{.Config.User}} {{json .Config.Entrypoint}} {{.Config.StopSignal}}' "$tag")
  equal "user, entry point, stop signal" "$image" \
    '10001:10001 ["telltale"] SIGTERM'
  image=$(docker image inspect -f \
    '{{index .Config.Labels "org.opencontainers.image.licenses"}}' "$tag")
  equal "licence label" "$image" Apache-2.0
  equal "telltale --version in the image" \
    "$(docker run --rm --read-only "$tag" --version)" \
    "$("$telltale" --version)"
  ! docker run --rm --entrypoint /bin/sh "$tag" -c 'command -v g++ cmake' ||
    fail "the runtime image holds a compiler"

  say "read-only, without root and without capabilities, it becomes healthy"
  start_container
  equal "user of process 1" "$(docker exec "$name" /bin/sh -c \
    'grep ^Uid: /proc/1/status | cut -f 3')" 10001
  ! docker exec "$name" touch /usr/bin/planted 2>/dev/null ||
    fail "the root file system is not read-only"

  say "a flight streamed in from outside is scored"
  "$telltale" stream --server "$address" --stream flight \
    --data "$work/flight.csv" >"$work/anomalies.txt"
  history_of_flight >"$work/before.json"
  rows=$(wc -l <"$work/before.json")
  ((rows > 1000)) || fail "history has $rows rows of 1500 instants"

  say "docker stop drains it; the scores outlive a restart"
  stop_container
  docker start "$name" >/dev/null
  wait_healthy
  history_of_flight >"$work/restarted.json"
  cmp "$work/before.json" "$work/restarted.json" ||
    fail "the history changed over a restart"

  say "and a new container on the same volume"
  stop_container
  docker rm "$name" >/dev/null
  start_container
  history_of_flight >"$work/anew.json"
  cmp "$work/before.json" "$work/anew.json" ||
    fail "the history changed in a new container"
  stop_container
  say "$rows scores, three times the same"
}

compose() {
  TELLTALE_IMAGE=$tag TELLTALE_PORT=0 "${compose_command[@]}" \
    -f "$root/docker/compose.yaml" -p "$name" "$@"
}

test_compose() {
  local client server code tries
  if docker compose version >/dev/null 2>&1; then
    compose_command=(docker compose)
  elif command -v docker-compose >/dev/null; then
    compose_command=(docker-compose)
  else
    say "skipped: neither docker compose nor docker-compose is installed"
    return
  fi

  say "server and demo client come up, the client streams and ends with 0"
  compose_up=1
  compose up -d --no-build >"$work/up.log" 2>&1 || {
    cat "$work/up.log" >&2
    fail "compose up"
  }
  client=$(compose ps -q client)
  for ((tries = 0; tries < 240; ++tries)); do
    [[ $(docker inspect -f '{{.State.Status}}' "$client") != exited ]] || break
    sleep 0.5
  done
  code=$(docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' "$client")
  [[ $code == "exited 0" ]] || {
    docker logs "$client" 2>&1 | tail -n 20 >&2
    fail "client: found '$code', expected 'exited 0'"
  }

  say "the server has the scores and stops with 0"
  server=$(compose ps -q server)
  address=$(docker port "$server" 50051/tcp | head -n 1)
  (($(history_of_flight | wc -l) > 3000)) || fail "too few scores in history"
  compose stop >/dev/null 2>&1
  equal "exit code of the server" \
    "$(docker inspect -f '{{.State.ExitCode}}' "$server")" 0
}

build_image
test_image
test_compose
say "passed"
