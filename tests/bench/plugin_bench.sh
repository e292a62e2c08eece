#!/bin/sh
# Measures the plugin: time per event on the job's threads, and the rate of the writer thread with a job that never pauses.
# usage: plugin_bench.sh BUILD-DIRECTORY PLUGIN
set -eu
build=$1
plugin=$(realpath "$2")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
export NCCLPROF_DIR="$directory"
for format in chrome inspector; do
    echo "events, NCCLPROF_FORMAT=$format:"
    NCCLPROF_FORMAT=$format "$build/plugin_events" "$plugin"
done
echo "writer, 10^7 calls from one proxy thread:"
rm -f "$directory"/*
NCCLPROF_BUFFER_EVENTS=4194304 "$build/fakecore" --plugin "$plugin" --threads --ranks 2 --steps 500 --layers 8 \
    --channels 8 --net-steps 8 --op-us 0 2>/dev/null >"$directory/counts"
python3 - "$directory" <<'PYTHON'
import glob, json, os, sys
path = glob.glob(sys.argv[1] + "/*.json")[0]
counts = json.load(open(sys.argv[1] + "/counts"))
calls = counts["steps"] * 5 + counts["proxy_ops"] * 3 + counts["kernels"] * 3 + counts["coll"] * 2 + counts["calls"] * 4
notes = {}
for line in open(path):
    if '"cat": "NCCLPROF"' in line:
        event = json.loads(line.rstrip().rstrip(","))
        notes[event["name"]] = event
end_s = notes["End"]["ts"] / 1e6
print(f"{calls} calls in {end_s:.2f} s: {calls / end_s / 1e6:.2f} M/s, {os.path.getsize(path) / 1e6:.0f} MB, "
      f"{notes['Drops']['args']['ring']} dropped")
PYTHON
