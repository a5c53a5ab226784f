import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PlainRow } from './published.ts';
import type { Flow } from './sync-harness.ts';

/** Writes a stream's contract file next to the config of a flow, as text or as JSON. */
export function writeContractFile(
  flow: Pick<Flow, 'folder'>,
  schema: object | string,
  stream = 'items',
): void {
  const folder = join(flow.folder, 'contracts');
  mkdirSync(folder, { recursive: true });
  const text = typeof schema === 'string' ? schema : JSON.stringify(schema, null, 2);
  writeFileSync(join(folder, `${stream}.schema.json`), text);
}

export function removeContractFile(flow: Pick<Flow, 'folder'>, stream = 'items'): void {
  rmSync(join(flow.folder, 'contracts', `${stream}.schema.json`));
}

/** What is in quarantine, in the order of the source. */
export function readQuarantine(flow: Flow): Promise<readonly PlainRow[]> {
  return flow.query(
    'SELECT run_id, stream, slice, page_offset, row_index, reason, path, record FROM _sluice.quarantine ORDER BY page_offset, row_index',
  );
}
