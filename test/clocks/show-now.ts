// Prints what JavaScript and the engine take for now, in seconds.
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(':memory:');
const connection = await instance.connect();
const reader = await connection.runAndReadAll('SELECT epoch(now())::BIGINT');
const [[engine] = []] = reader.getRowsJson();
process.stdout.write(JSON.stringify([Math.floor(Date.now() / 1000), Number(engine)]));
connection.closeSync();
instance.closeSync();
