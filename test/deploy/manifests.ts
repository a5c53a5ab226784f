import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from './dockerfile.ts';

const text = z.record(z.string(), z.string());
const securitySchema = z.object({
  allowPrivilegeEscalation: z.boolean(),
  readOnlyRootFilesystem: z.boolean(),
  capabilities: z.object({ drop: z.array(z.string()) }),
});
const probeSchema = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
const containerSchema = z.object({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string().default('') })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  startupProbe: probeSchema.optional(),
  livenessProbe: probeSchema.optional(),
  readinessProbe: probeSchema.optional(),
  securityContext: securitySchema,
  resources: z.object({ requests: text, limits: text }),
  volumeMounts: z.array(
    z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) }),
  ),
});
const projectedSchema = z.object({
  sources: z.array(
    z.object({
      secret: z.object({
        name: z.string(),
        items: z.tuple([z.object({ key: z.string(), path: z.string() })]),
        optional: z.boolean(),
      }),
    }),
  ),
});
const podSchema = z.object({
  restartPolicy: z.string().optional(),
  terminationGracePeriodSeconds: z.number(),
  automountServiceAccountToken: z.boolean(),
  securityContext: z.object({
    runAsNonRoot: z.boolean(),
    runAsUser: z.number(),
    seccompProfile: z.object({ type: z.string() }),
  }),
  containers: z.tuple([containerSchema]),
  volumes: z.array(z.looseObject({ name: z.string(), projected: projectedSchema.optional() })),
});
const ruleSchema = z.object({
  action: z.enum(['Ignore', 'FailJob', 'Count', 'FailIndex']),
  onExitCodes: z.object({ operator: z.literal('In'), values: z.array(z.number()) }).optional(),
});
export const cronJobSchema = z.object({
  spec: z.object({
    schedule: z.string(),
    timeZone: z.string(),
    concurrencyPolicy: z.string(),
    jobTemplate: z.object({
      spec: z.object({
        activeDeadlineSeconds: z.number(),
        backoffLimit: z.number(),
        podFailurePolicy: z.object({ rules: z.array(ruleSchema) }),
        template: z.object({ spec: podSchema }),
      }),
    }),
  }),
});
export const deploymentSchema = z.object({
  spec: z.object({
    // Left out where something else scales it.
    replicas: z.number().optional(),
    strategy: z.object({ type: z.string() }),
    template: z.object({ spec: podSchema }),
  }),
});
const serviceSchema = z.object({
  command: z.array(z.string()),
  environment: text.default({}),
  read_only: z.boolean(),
  cap_drop: z.array(z.string()),
  security_opt: z.array(z.string()),
  tmpfs: z.array(z.string()),
  mem_limit: z.string(),
  profiles: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  secrets: z.array(z.union([z.string(), z.object({ source: z.string(), target: z.string() })])).default([]),
  volumes: z.array(z.string()).default([]),
  network_mode: z.string().optional(),
});
/** A fleet has servers beside its workers, and jobs that are not repeated. */
const fleetComposeSchema = z.object({
  services: z.object({ init: serviceSchema, worker: serviceSchema }),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});
export const jobSchema = z.object({ spec: z.object({ template: z.object({ spec: podSchema }) }) });
const composeSchema = z.object({
  services: z.record(z.string(), serviceSchema),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

/** The pod of a manifest under docker/kubernetes. */
export type Pod = z.infer<typeof podSchema>;

/** The manifests, as far as tests ask about them. */
export const cronJob = cronJobSchema.parse(readYaml('docker/kubernetes/cronjob/cronjob.yaml'));
/** The same for several accounts. */
export const accountsCronJob = cronJobSchema.parse(
  patchManifest(
    readYaml('docker/kubernetes/cronjob/cronjob.yaml'),
    readYaml('docker/kubernetes/accounts/cronjob.yaml'),
  ),
);
export const deployment = deploymentSchema.parse(readYaml('docker/kubernetes/schedule/deployment.yaml'));
export const compose = composeSchema.parse(readYaml('docker/compose.yaml'));
export const accountsCompose = composeSchema.parse(readYaml('docker/compose.accounts.yaml'));

export const fleetCompose = fleetComposeSchema.parse(readYaml('docker/compose.fleet.yaml'));
export const fleetDeployment = deploymentSchema.parse(readYaml('docker/kubernetes/fleet/deployment.yaml'));
export const fleetJob = jobSchema.parse(readYaml('docker/kubernetes/fleet/job.yaml'));

/** A manifest after a patch, as kustomize makes it: maps and lists of named items are merged, null takes away. */
function patchManifest(manifest: unknown, patch: unknown): unknown {
  if (isNamedList(manifest) && isNamedList(patch)) {
    const names = new Set([...manifest, ...patch].map(({ name }) => name));
    const find = (list: typeof patch, name: string) => list.find((item) => item.name === name);
    return [...names].map((name) => patchManifest(find(manifest, name), find(patch, name)));
  }
  if (patch === undefined) return manifest;
  if (!isMap(manifest) || !isMap(patch)) return patch;
  const merged = Object.entries({ ...manifest, ...patch }).map(
    ([key, value]) => [key, key in patch ? patchManifest(manifest[key], value) : value] as const,
  );
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNamedList(value: unknown): value is readonly { readonly name: string }[] {
  return Array.isArray(value) && value.every((item) => isMap(item) && typeof item['name'] === 'string');
}

/** The lines of a systemd unit by name; a name may have several. */
export function readUnit(file: string): ReadonlyMap<string, readonly string[]> {
  const pairs = readFile(file)
    .split('\n')
    .flatMap((line) => {
      const match = /^([A-Z]\w*)=(.*)$/.exec(line);
      return match === null ? [] : [{ name: match[1] ?? '', value: match[2] ?? '' }];
    });
  return new Map(
    [...Map.groupBy(pairs, ({ name }) => name)].map(([name, found]) => [
      name,
      found.map(({ value }) => value),
    ]),
  );
}

/** A file of the project as it is. */
export function readFile(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** A YAML file of the project, anchors and `<<` filled in. */
export function readYaml(file: string): unknown {
  return parse(readFile(file), { merge: true });
}
