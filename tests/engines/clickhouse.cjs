// node clickhouse.cjs ROOM: the same as duckdb.mjs, with ClickHouse from the library in npm's chdb.
const { readFileSync } = require("node:fs");
const { resolve } = require("node:path");
const { query } = require(resolve(process.argv[2], "node_modules/chdb"));
const settings = "SETTINGS output_format_json_quote_64bit_integers = 1, output_format_json_quote_denormals = 1";
const answers = JSON.parse(readFileSync(0)).map((sql) =>
  String(query(`${sql}\n${settings}`, "JSONCompactEachRow")).split("\n").filter(Boolean).map((line) => JSON.parse(line)));
console.log(JSON.stringify(answers));
