import { describe, it } from 'vitest';
import { explainMissing } from './lake-servers.ts';

/** Tests that need the servers of a lake. Without them they are skipped with the reason; the full proof fails. */
export function describeWithServers(title: string, body: () => void): void {
  const missing = explainMissing();
  if (missing !== undefined && process.env['SLUICE_PROOF'] === 'full')
    describe(title, () => {
      it('has its servers', () => {
        throw new Error(missing);
      });
    });
  else describe.skipIf(missing !== undefined)(missing === undefined ? title : `${title} (${missing})`, body);
}
