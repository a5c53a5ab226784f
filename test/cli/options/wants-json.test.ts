import { expect, it } from 'vitest';
import { wantsJson } from '../../../src/cli/options/wants-json.ts';

it.each([
  { argv: ['sync', '--json'], env: {}, wants: true },
  { argv: ['--json', '--wat'], env: {}, wants: true },
  { argv: ['sync', '--json=false'], env: { SLUICE_JSON: '1' }, wants: false },
  { argv: ['sync'], env: { SLUICE_JSON: 'true' }, wants: true },
  { argv: ['sync'], env: { SLUICE_JSON: '0' }, wants: false },
  { argv: ['query', '--', '--json'], env: {}, wants: false },
  { argv: ['query', 'select --json'], env: {}, wants: false },
])('$argv with $env: $wants', ({ argv, env, wants }) => {
  expect(wantsJson(argv, env)).toBe(wants);
});
