import { stripVTControlCharacters } from 'node:util';

/** The files among these of which vitest's output names a failure, e.g. ` FAIL  |daily| test/a.test.ts > a test`. */
export function listFailedFiles(output: string, files: readonly string[]): readonly string[] {
  const failures = stripVTControlCharacters(output)
    .split('\n')
    .filter((line) => /^\s*FAIL /.test(line))
    .map((line) => `${line} `);
  return files.filter((file) => failures.some((line) => line.includes(` ${file} `)));
}
