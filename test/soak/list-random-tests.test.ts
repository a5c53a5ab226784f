import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../docs/markdown.ts';
import { listRandomTests } from './list-random-tests.ts';

it('finds every test whose cases are random', () => {
  const files = listRandomTests(root);
  expect(files).toEqual(
    expect.arrayContaining([
      'test/faults/wire-fuzz.property.test.ts',
      'test/flows/convergence.property.test.ts',
      'test/text/redact.test.ts',
    ]),
  );
  expect(files).not.toContain('test/http/client.test.ts');
});

it('leaves no test with chances of its own: nobody could repeat it', () => {
  const own = /Math\.random\(|randomInt\(|randomUUID\(/;
  const strays = listRandomTests(root).filter((file) => own.test(readFileSync(join(root, file), 'utf8')));
  expect(strays).toEqual([]);
});
