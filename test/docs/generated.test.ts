import { describe, expect, it } from 'vitest';
import { generatedFiles } from '../../tools/generated-files.ts';
import { readText } from './markdown.ts';

describe('generated files', () => {
  it.each(generatedFiles)('$path is what `npm run docs` writes', async ({ path, write }) => {
    expect(readText(path)).toBe(await write());
  });
});
