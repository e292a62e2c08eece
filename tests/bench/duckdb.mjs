// node duckdb.mjs ROOM DATABASE SQL...: runs SQL in DuckDB with 2 threads, prints the seconds of each statement.
// ROOM is the folder into which npm installed @duckdb/node-api. Starting node and loading DuckDB is not counted.
import { createRequire } from "node:module";
const [room, database, ...statements] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(room + "/")("@duckdb/node-api");
const instance = await DuckDBInstance.create(database, { threads: "2" });
const connection = await instance.connect();
const seconds = [];
for (const sql of statements) {
  const begin = process.hrtime.bigint();
  const result = await connection.runAndReadAll(sql);
  result.getRows();
  seconds.push(Number(process.hrtime.bigint() - begin) / 1e9);
}
console.log(JSON.stringify(seconds));
