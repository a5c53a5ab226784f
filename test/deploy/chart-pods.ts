import { strict as assert } from 'node:assert';
import { z } from 'zod';
import type { Manifest } from './chart.ts';
import { cronJob, cronJobSchema, deploymentSchema, jobSchema, type Pod } from './manifests.ts';

/** A pod of the chart. */
export interface ChartPod {
  readonly kind: string;
  readonly pod: Pod;
  readonly configMap: string;
  /** What it mounts below /run/secrets: whole folders, or single files. */
  readonly files: readonly string[];
}

const volumesSchema = z.array(
  z.looseObject({
    name: z.string(),
    configMap: z.object({ name: z.string() }).optional(),
    secret: z.object({ items: z.array(z.object({ path: z.string() })).optional() }).optional(),
  }),
);

/** The pods that resources make. */
export function listPods(manifests: readonly Manifest[]): readonly ChartPod[] {
  return manifests.flatMap((manifest) => {
    const pod = findPod(manifest);
    if (pod === undefined) return [];
    const volumes = volumesSchema.parse(pod.volumes);
    const configMap = volumes.find(({ name }) => name === 'config')?.configMap?.name ?? '';
    const files = pod.containers[0].volumeMounts.flatMap(({ name, mountPath }) => {
      const items = volumes.find((volume) => volume.name === name)?.secret?.items;
      const projected = pod.volumes.find((volume) => volume.name === name)?.projected?.sources;
      const paths = items?.map(({ path }) => path) ?? projected?.map(({ secret }) => secret.items[0].path);
      return paths === undefined ? [`${mountPath}/`] : paths.map((path) => `${mountPath}/${path}`);
    });
    return [{ kind: manifest.kind, pod, configMap, files }];
  });
}

function findPod(manifest: Manifest): Pod | undefined {
  if (manifest.kind === 'CronJob') return cronJobSchema.parse(manifest).spec.jobTemplate.spec.template.spec;
  if (manifest.kind === 'Deployment') return deploymentSchema.parse(manifest).spec.template.spec;
  return manifest.kind === 'Job' ? jobSchema.parse(manifest).spec.template.spec : undefined;
}

/** Fails where a pod of the chart may do more, or is run otherwise, than one of docker/kubernetes. */
export function comparePods(ours: Pod, plain: Pod): void {
  assert.deepEqual(describePod(ours), describePod(plain));
}

/** Fails where a CronJob of the chart is planned or tried again otherwise than the one of docker/kubernetes. */
export function compareCronJob(manifest: Manifest): void {
  const describe = ({ spec }: typeof cronJob) => {
    const { template: _template, ...job } = spec.jobTemplate.spec;
    return { ...spec, jobTemplate: job };
  };
  assert.deepEqual(describe(cronJobSchema.parse(manifest)), describe(cronJob));
}

function describePod(pod: Pod) {
  const { image: _image, ...container } = pod.containers[0];
  const { volumes, containers: _containers, ...rest } = pod;
  // Where the files of the key come from may differ; where they are does not.
  const mounts = container.volumeMounts
    .map(({ mountPath, readOnly }) => `${mountPath}${readOnly ? ' read-only' : ''}`)
    .toSorted();
  // An example may name more of them.
  const env = container.env.filter(({ name }) => name.startsWith('SLUICE_'));
  return { ...rest, container: { ...container, env, volumeMounts: mounts }, volumes: volumes.length };
}
