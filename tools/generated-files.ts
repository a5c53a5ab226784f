import { writeCommandsPage } from './commands-page.ts';
import { writeConfigPage } from './config-page.ts';
import { writeEditorSchema } from './editor-schema.ts';

/** Files of the repository that `npm run docs` writes; a test holds each against what it would write. */
export const generatedFiles: readonly {
  readonly path: string;
  readonly write: () => Promise<string>;
}[] = [
  { path: 'docs/commands.md', write: writeCommandsPage },
  { path: 'docs/configuration.md', write: writeConfigPage },
  { path: 'sluice.schema.json', write: writeEditorSchema },
];
