import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';

/** A value as Dagster puts it into a variable. */
export function encodeParam(value: unknown): string {
  return deflateSync(JSON.stringify(value)).toString('base64');
}

/** The variables of a step with these assets and extras, and what was written to it. */
export function makeStep(step: { readonly assets?: readonly string[]; readonly extras?: object } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'dagster-'));
  const [context, messages] = [join(folder, 'context'), join(folder, 'messages')];
  const { assets = null, extras = {} } = step;
  writeFileSync(context, JSON.stringify({ asset_keys: assets, extras, run_id: 'dagster-run' }));
  writeFileSync(messages, '');
  return {
    env: {
      DAGSTER_PIPES_CONTEXT: encodeParam({ path: context }),
      DAGSTER_PIPES_MESSAGES: encodeParam({ path: messages }),
    },
    read: () => parseMessages(readFileSync(messages, 'utf8')),
  };
}

/** A message as Dagster reads it. */
export interface Received {
  readonly __dagster_pipes_version: string;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export function parseMessages(text: string): readonly Received[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Received);
}
