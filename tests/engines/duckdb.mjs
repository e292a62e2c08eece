// node duckdb.mjs ROOM: reads a JSON list of statements from standard input and prints a list of rows for each. Integers are
// printed as texts, because JSON readers differ on those above 2^53, and NaN and infinities by their names. ROOM is the folder
// into which npm installed DuckDB.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
const { DuckDBInstance } = createRequire(resolve(process.argv[2]) + "/")("@duckdb/node-api");
const connection = await (await DuckDBInstance.create(":memory:", { threads: "2" })).connect();
const plain = (value) => typeof value === "bigint" ? value.toString()
  : typeof value === "number" && (Object.is(value, -0) || !Number.isFinite(value)) ? (Object.is(value, -0) ? "-0.0" : String(value))
  : value !== null && typeof value === "object" ? value.toString() : value;
const answers = [];
for (const sql of JSON.parse(readFileSync(0)))
  answers.push((await connection.runAndReadAll(sql)).getRows().map((row) => row.map(plain)));
console.log(JSON.stringify(answers));
