#!/bin/sh
# Makes seeds for the fuzzers: `seeds.sh FOLDER TRACE...`, from the top of the repository.
folder=$1
shift
mkdir -p "$folder/traces" "$folder/whole" "$folder/query" "$folder/options" "$folder/text" "$folder/job" "$folder/kineto" "$folder/nsys" || exit 1
n=0
for trace in "$@"; do
    n=$((n + 1))
    most=8192
    case $trace in *.sqlite) most=65536 ;; esac # whole, or it is none
    case $trace in
    *.gz) gzip -dc "$trace" ;;
    *) cat "$trace" ;;
    esac | case $trace in
    */kineto-rank*) awk -v folder="$folder/kineto" -v number=$n -f tests/fuzz/kineto_seeds.awk ;;
    *) head -c "$most" ;;
    esac >"$folder/traces/$n"
    { basename "$trace" .gz; cat "$folder/traces/$n"; } >"$folder/whole/$n"
done
gzip -c <fixtures/copy-engine/dump_4660_1.json >"$folder/traces/packed"

# One SQL statement per file, split as the schemas mark them.
awk -v folder="$folder/query" '/^-- statement:/ { n++ } n { print > (folder "/" n) }' schemas/info/*.sql schemas/analysis/*.sql
echo 'SELECT rank, max(network_us) FROM proxy_step JOIN v_proxy_operation USING (proxy_operation_id) GROUP BY rank' \
    >"$folder/query/steps"
echo 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' >"$folder/query/endless"
echo "SELECT 1; ATTACH 'x' AS y -- z" >"$folder/query/attach"

printf 'X-j4\0--force\0--format=json\0a.json' >"$folder/options/ingest"
printf 'X--store\0x.db\0-qh\0--\0-x' >"$folder/options/common"
printf 'X--timeout=5\0SELECT 1' >"$folder/options/query"
printf 'X--by\0tag,function\0--sort\0bytes\0--run\0002' >"$folder/options/report"

printf 'layer 3/attention \342\200\256\033[2J\302\233"\\' >"$folder/text/odd"
printf 'forward' >"$folder/text/plain"

# The first byte selects the text around it.
mkdir -p "$folder/call_description" "$folder/prometheus" || exit 1
sed -n 's/^{/0{/p' fixtures/call-description/stdout.0 | head -n 1 >"$folder/call_description/whole"
printf '1send", "source_line": "a.py:1", "group_ranks": [0, 4], "x": "{' >"$folder/call_description/name"
head -n 1 fixtures/prometheus/nccl_inspector*.prom | sed -n 2p >"$folder/prometheus/line"
sed -n 3p fixtures/prometheus/tagged.prom >"$folder/prometheus/tagged"

# Six ranks and twelve steps of three operations (the middle one between pairs), unchanged or with a few changes; and noise.
job() {
    printf "\005\013\002$1\0\0\001\002\0\0\024\062\144\050\002\013\001\001\020\050\062\036\001\003\0\002\030\144\170\050$2"
}
job '\0' '' >"$folder/job/clean"
for kind in 0 1 2 3 4 5 6 7 10 11 12 13 14 15 16 17 20 21 22 23; do
    job '\003' "\\$kind\001\005\377\226\\$kind\001\006\377\226\\$kind\002\010\001\120" >"$folder/job/$kind"
done
for packed in fixtures/tp2dp2pp2-clean/dump*_0.json.gz; do
    tail -c 400 "$packed" >"$folder/job/$(basename "$packed")"
done

cp fixtures/nsys/*.sqlite "$folder/nsys"

# Inputs that fuzzing has found.
cp -r tests/fuzz/found/whole/. "$folder/whole/"
