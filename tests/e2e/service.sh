# shellcheck shell=bash
# For the scripts of this folder: a scratch folder, a model and a server.
# Expects TELLTALE (the program) and SCRATCH (a folder of this test's own).
set -euo pipefail

# Of the tests' own; the program would warn of settings that it does not know.
unset TELLTALE_SHARED_DATA TELLTALE_REFERENCE_METRIC TELLTALE_DOCKER_ENGINE

server_pid=
mkdir -p "$SCRATCH"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The end of a test, however it comes, leaves no server behind.
end_server() {
  [[ -z $server_pid ]] || kill -KILL "$server_pid" 2>/dev/null || true
}
trap end_server EXIT

# start_server MODEL STORE [FLAG...]: sets server_pid and address.
start_server() {
  local model=$1 store=$2
  shift 2
  rm -f "$SCRATCH/address"
  "$TELLTALE" serve --model "$model" --store "$store" --listen 127.0.0.1:0 \
    --address-file "$SCRATCH/address" "$@" 2>>"$SCRATCH/server.log" &
  server_pid=$!
  local tries=0
  until [[ -s $SCRATCH/address ]]; do
    kill -0 "$server_pid" 2>/dev/null || fail "the server ended at its start:
$(tail -5 "$SCRATCH/server.log")"
    (( ++tries < 600 )) || fail "the server does not come up"
    sleep 0.1
  done
  # shellcheck disable=SC2034 # for who sources this
  address=$(<"$SCRATCH/address")
}

# stop_server: SIGTERM; the server must end with 0 within 8 seconds.
stop_server() {
  local began=$SECONDS code=0
  kill -TERM "$server_pid"
  wait "$server_pid" || code=$?
  server_pid=
  (( code == 0 )) || fail "the server ended with $code after SIGTERM"
  (( SECONDS - began <= 8 )) || fail "draining took $((SECONDS - began)) s"
}
