import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTier } from '../test/tiers.ts';

const root = join(import.meta.dirname, '..');
const PROOF = /`test\/([^`]+\.test\.ts)`/g;

/** A page with its tables of proofs, the last column of each row saying which script runs them. */
export function writeProofColumn(page: string): Promise<string> {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  let columnCount = 0;
  const written = lines.map((line) => {
    if (!line.startsWith('|')) columnCount = 0;
    else if (line.endsWith('| run by |')) columnCount = countCells(line);
    const files = columnCount > 0 ? [...line.matchAll(PROOF)].map(([, file = '']) => file) : [];
    if (files.length === 0) return line;
    const script = files.some((file) => findTier(file) === 'full') ? 'test:full' : 'test';
    // A new row may still lack the cell.
    const others =
      countCells(line) < columnCount ? line.slice(0, -2) : line.slice(0, line.lastIndexOf(' | '));
    return `${others} | \`${script}\` |`;
  });
  return Promise.resolve(written.join('\n'));
}

function countCells(line: string): number {
  return line.split(/(?<!\\)\|/).length - 2;
}
