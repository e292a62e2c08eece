# Read the output of `export --to parquet` with DuckDB and ClickHouse. `make deps-duckdb` installs Debian's node and npm, and
# each of these targets installs its engine with npm, into a folder of the build.
ENGINES := build/engines
DUCKDB := $(ENGINES)/node_modules/@duckdb/node-api/package.json
CLICKHOUSE := $(ENGINES)/node_modules/chdb/package.json
ENGINES_TEST = NCCLPROF=$(OUT)/ncclprof NCCLPROF_ENGINES=$(ENGINES) tests/parallel.py engines

$(DUCKDB):
	npm install --no-audit --no-fund --prefix $(ENGINES) @duckdb/node-api

$(CLICKHOUSE):
	npm install --no-audit --no-fund --prefix $(ENGINES) chdb

.PHONY: duckdb-test clickhouse-test
duckdb-test: $(OUT)/ncclprof $(DUCKDB)
	$(ENGINES_TEST) 'python3 -B -m unittest -b tests.engines.test_engines.DuckDB'

# The engine is a download of half a GB.
clickhouse-test: $(OUT)/ncclprof $(CLICKHOUSE)
	$(ENGINES_TEST) 'python3 -B -m unittest -b tests.engines.test_engines.ClickHouse'
