// node duckdb.mjs ROOM: answers a JSON list of statements on standard input with a list of rows for each. Whole numbers are
// texts, as JSON's readers differ on those beyond 2^53; of what is no number, its name. ROOM is where npm put DuckDB.
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
