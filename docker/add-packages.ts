// Copies packages, with all that they need, from one folder of packages to another: `add-packages.ts FROM TO NAME…`
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

const [from = '', to = '', ...names] = process.argv.slice(2);
const places = new Set<string>();

/** Finds a package as Node does: in the one that needs it, or in a folder above. */
function find(name: string, above: string): string {
  let place = above;
  for (;;) {
    const found = place === '' ? name : `${place}/node_modules/${name}`;
    if (existsSync(join(from, found, 'package.json'))) return found;
    if (place === '') throw new Error(`${name} is not in ${from}`);
    place = place.slice(0, Math.max(0, place.lastIndexOf('/node_modules/')));
  }
}

function add(name: string, above: string): void {
  const place = find(name, above);
  if (places.has(place)) return;
  places.add(place);
  const { dependencies = {} } = JSON.parse(
    readFileSync(join(from, place, 'package.json'), 'utf8'),
  ) as Manifest;
  for (const needed of Object.keys(dependencies)) add(needed, place);
}

for (const name of names) add(name, '');
for (const place of places)
  if (!existsSync(join(to, place))) cpSync(join(from, place), join(to, place), { recursive: true });
