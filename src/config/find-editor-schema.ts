import { existsSync } from 'node:fs';
import path from 'node:path';

const FILE = 'sluice.schema.json';

/**
 * The way from a config's folder to the JSON Schema that editors check it by: that of a Sluice installed there or in
 * a folder above, or of the clone it lies in. Undefined elsewhere: a path outside would hold on one machine only.
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
