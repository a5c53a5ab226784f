import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './generated-files.ts';

const root = join(import.meta.dirname, '..');
for (const { path, write } of generatedFiles) {
  writeFileSync(join(root, path), await write());
  process.stdout.write(`${path}\n`);
}
