import { existsSync } from 'node:fs';
import path from 'node:path';

const FILE = 'sluice.schema.json';

/**
 * The path from a config's folder to the JSON Schema that editors use: that of a Sluice installed there or in
 * a parent folder, or of the clone it is in. Undefined elsewhere, because a path outside would only work on
 * one machine.
 */
export function findEditorSchema(folder: string): string | undefined {
  return search(path.resolve(folder), '.');
}

function search(folder: string, way: string): string | undefined {
  const place = [`node_modules/sluice/${FILE}`, FILE].find((file) => existsSync(path.join(folder, file)));
  if (place !== undefined) return `${way}/${place}`;
  const parent = path.dirname(folder);
  return parent === folder ? undefined : search(parent, way === '.' ? '..' : `${way}/..`);
}
