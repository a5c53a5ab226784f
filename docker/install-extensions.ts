// Downloads extensions of the engine into ./extensions, for exactly the engine of this image: it checks their signatures.
// The names come from the build argument EXTENSIONS; without any, the folder stays empty.
import { mkdirSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const folder = `${process.cwd()}/extensions`;
const names = process.argv.slice(2).flatMap((text) => text.split(/[\s,]+/).filter((name) => name !== ''));
const odd = names.find((name) => !/^[a-z][a-z0-9_]*$/.test(name));
if (odd !== undefined) throw new RangeError(`EXTENSIONS has ${odd}, which is not the name of an extension`);
mkdirSync(folder, { recursive: true });
if (names.length > 0) {
  const instance = await DuckDBInstance.create(':memory:', { extension_directory: folder });
  const connection = await instance.connect();
  for (const name of names) await connection.run(`INSTALL ${name}`);
  connection.closeSync();
  instance.closeSync();
}
