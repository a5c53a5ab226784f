import { z } from 'zod';
import { readFile, readYaml } from './manifests.ts';

const ruleSchema = z.strictObject({
  alert: z.string().regex(/^Sluice[A-Z]\w+$/),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
});
const rulesSchema = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(ruleSchema) })),
});

const datasourceSchema = z.strictObject({
  type: z.literal('prometheus'),
  uid: z.literal('${datasource}'),
});
const placeSchema = z.strictObject({ h: z.number(), w: z.number(), x: z.number(), y: z.number() });
const drawnSchema = z.looseObject({
  id: z.number(),
  type: z.string(),
  title: z.string(),
  datasource: datasourceSchema,
  gridPos: placeSchema,
  targets: z.array(z.looseObject({ refId: z.string(), datasource: datasourceSchema, expr: z.string() })),
});
const rowSchema = z.looseObject({
  id: z.number(),
  type: z.literal('row'),
  title: z.string(),
  gridPos: placeSchema,
  panels: z.array(drawnSchema),
});
const dashboardSchema = z.looseObject({
  title: z.string(),
  templating: z.object({
    list: z.array(z.looseObject({ name: z.string(), type: z.string(), query: z.unknown() })),
  }),
  panels: z.array(z.union([rowSchema, drawnSchema])),
});

/** The alerts of the kit. */
export const rulesFile = 'docker/helm/sluice/files/rules.yaml';
export const dashboardFile = 'docker/helm/sluice/files/dashboard.json';
export const alerts = rulesSchema.parse(readYaml(rulesFile)).groups.flatMap(({ rules }) => rules);

export const dashboard = dashboardSchema.parse(JSON.parse(readFile(dashboardFile)));
/** Its panels, those of folded rows included. */
export const panels = dashboard.panels.flatMap((panel) =>
  'panels' in panel ? (panel['panels'] as readonly z.infer<typeof drawnSchema>[]) : [panel],
) as readonly z.infer<typeof drawnSchema>[];

/** A series that an expression asks for. */
export interface Selector {
  readonly name: string;
  readonly labels: readonly { readonly name: string; readonly value: string }[];
}

/** The series in an expression of Prometheus whose names begin with one of these words. */
export function listSelectors(expr: string, ...prefixes: readonly string[]): readonly Selector[] {
  const series = new RegExp(String.raw`\b((?:${prefixes.join('|')})_\w+)(?:\{([^}]*)\})?`, 'g');
  return [...expr.matchAll(series)].map(([, name = '', labels = '']) => ({
    name,
    labels: [...labels.matchAll(/(\w+)(?:=~|!=|!~|=)"([^"]*)"/g)].map(([, label = '', value = '']) => ({
      name: label,
      value,
    })),
  }));
}
