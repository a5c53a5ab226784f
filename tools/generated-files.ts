import { writeChartSchema } from './chart-schema.ts';
import { writeCommandsPage } from './commands-page.ts';
import { writeConfigPage } from './config-page.ts';
import { writeDashboard } from './dashboard/dashboard.ts';
import { writeEditorSchema } from './editor-schema.ts';
import { writeProofColumn } from './proof-column.ts';

/** Files of the repository that `npm run docs` writes; a test compares each with what it would write. */
export const generatedFiles: readonly {
  readonly path: string;
  readonly write: () => Promise<string>;
}[] = [
  { path: 'docker/helm/sluice/files/dashboard.json', write: writeDashboard },
  { path: 'docker/helm/sluice/values.schema.json', write: writeChartSchema },
  { path: 'docs/commands.md', write: writeCommandsPage },
  { path: 'docs/configuration.md', write: writeConfigPage },
  { path: 'docs/faults.md', write: () => writeProofColumn('docs/faults.md') },
  { path: 'docs/reliability.md', write: () => writeProofColumn('docs/reliability.md') },
  { path: 'sluice.schema.json', write: writeEditorSchema },
];
