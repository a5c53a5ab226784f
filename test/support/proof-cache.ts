import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder, outside the repository, that keeps what proofs downloaded: `SLUICE_PROOF_CACHE`, else `sluice-proofs` in
 * the user's cache. `tools/install-proof-tools.sh` computes the same one.
 */
export function findProofCache(): string {
  const { SLUICE_PROOF_CACHE: chosen = '', XDG_CACHE_HOME: caches = '' } = process.env;
  if (chosen !== '') return chosen;
  return join(caches === '' ? join(homedir(), '.cache') : caches, 'sluice-proofs');
}
