import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTier } from '../test/tiers.ts';

const root = join(import.meta.dirname, '..');
const PROOF = /`test\/([^`]+\.test\.ts)`/g;

/** A page with its tables of proofs, the last column of each row saying which script runs them. */
export function writeProofColumn(page: string): Promise<string> {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  let isIn = false;
  const written = lines.map((line) => {
    if (!line.startsWith('|')) isIn = false;
    else if (line.endsWith('| run by |')) isIn = true;
    const files = isIn ? [...line.matchAll(PROOF)].map(([, file = '']) => file) : [];
    if (files.length === 0) return line;
    const script = files.some((file) => findTier(file) === 'full') ? 'test:full' : 'test';
    return `${line.slice(0, line.lastIndexOf(' | '))} | \`${script}\` |`;
  });
  return Promise.resolve(written.join('\n'));
}
