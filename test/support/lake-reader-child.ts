// A reader in a process of its own: runs the statement it is given until its input ends, then says what it saw.
import { DuckDBInstance } from '@duckdb/node-api';

const [, , sql = ''] = process.argv;
const versions: Record<string, number> = {};
const errors: Record<string, number> = {};
let isStopped = false;
process.stdin.on('end', () => (isStopped = true)).resume();
const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
const connection = await instance.connect();
process.stdout.write('ready\n');
while (!isStopped) {
  try {
    const [row] = (await connection.runAndReadAll(sql)).getRowsJson();
    const [version, ids] = (row ?? []) as [string, string];
    const name = version.endsWith(` ${ids}`) ? version : `${version}, of which ${ids} differ`;
    versions[name] = (versions[name] ?? 0) + 1;
  } catch (error) {
    const message = (error as Error).message.replace(/"[^"]*"/g, '…').split('\n', 1)[0] ?? '';
    errors[message] = (errors[message] ?? 0) + 1;
  }
}
process.stdout.write(`${JSON.stringify({ versions, errors })}\n`);
connection.closeSync();
instance.closeSync();
