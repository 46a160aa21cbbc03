#!/bin/sh
# Reward 1 where the predicate is true of the state that the agent left and no budget was exceeded, else 0. Without an
# answer to that there is no reward, and the exit status is 1.
set -u
world=${WORLD:-/world} tests=${TESTS:-/tests} logs=${LOGS:-/logs}
mkdir -p "$logs/verifier"
[ -e "$world/session.json" ] || { echo "the world left no session" >&2; exit 1; }
reward=0
if grep -q '"counts": true' "$world/session.json"; then
    set -- --state "$world/state.json" --predicate "$tests/task.json"
    answer=$logs/artifacts/answer.txt
    [ ! -f "$answer" ] || set -- "$@" "--answer=$(cat "$answer")"
    quarterturn predicate check "$@" >"$logs/verifier/evidence.txt"
    case $? in
    0) reward=1 ;;
    1) ;;
    *) exit 1 ;;
    esac
fi
echo "$reward" >"$logs/verifier/reward.txt"
