import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

export const CHART = 'docker/helm/sluice';

const manifestSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});

/** A resource of Kubernetes. */
export type Manifest = z.infer<typeof manifestSchema>;

/** The resources in what Helm prints. */
export function readManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const value: unknown = document.toJS();
    return value === null ? [] : [manifestSchema.parse(value)];
  });
}

/** The one resource of a kind with this name. */
export function findManifest(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}
