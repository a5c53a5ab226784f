import { expect, it } from 'vitest';
import { listFailedFiles } from './list-failed-files.ts';

const files = ['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts', 'test/d.test.ts'];

it('the files that failed are read from what vitest prints, with projects, without, and in colour', () => {
  const output = [
    ' RUN  v5.1.1 /project',
    ' FAIL  |daily| test/a.test.ts > a flow > ends',
    '\u001b[41m\u001b[1m FAIL \u001b[22m\u001b[49m \u001b[30m\u001b[46m full \u001b[49m\u001b[39m test/b.test.ts > ends',
    ' FAIL  test/c.test.ts [ test/c.test.ts ]',
    'a message that says FAIL  test/d.test.ts > is none',
    ' ❯ test/d.test.ts:2:27',
  ].join('\n');
  expect(listFailedFiles(output, files)).toEqual(files.slice(0, 3));
  expect(listFailedFiles(' FAIL  |full| another/test/d.test.ts > ends', files)).toEqual([]);
});
