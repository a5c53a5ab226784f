import { strict as assert } from 'node:assert';
import { measurePeers } from '../../../bench/parts/peers.ts';
import { sources } from '../../../bench/support/build.ts';
import { writeFinding } from '../../../bench/support/finding.ts';
import { cliEntry } from '../../support/cli-entry.ts';
import type { Interop } from '../part.ts';

const ROWS = 200;

/** The benchmark next to other tools runs, and each of them has all rows. What it measures is not checked. */
export async function provePeers({ folder, say }: Interop): Promise<void> {
  const build = { ...sources, cli: cliEntry };
  const [finding, ...more] = await measurePeers({
    size: ROWS,
    folder,
    repeats: 1,
    build,
    say: () => undefined,
  });
  assert(finding !== undefined && more.length === 0);
  const column = finding.head.indexOf('rows in the table');
  assert.deepEqual(
    finding.rows.map((row) => row[column]),
    ['none', ...Array.from({ length: finding.rows.length - 1 }, () => String(ROWS))],
    writeFinding(finding),
  );
  assert.equal(finding.rows.length, 5, writeFinding(finding));
  say('dlt, PyAirbyte and a pair of Singer are measured next to Sluice, on the same pages');
}
