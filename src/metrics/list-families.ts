import type { Registry } from 'prom-client';
import type { MetricFamily } from '../model/telemetry.ts';
import type { MetricFacts, ScheduleFacts } from './metric-facts.ts';
import { type AccountMetricsOptions, fillRegistries, fillRegistry } from './render-metrics.ts';

/** The facts as values, with the names and labels of `renderMetrics`. */
export async function listFamilies(
  facts: MetricFacts,
  schedule?: ScheduleFacts,
): Promise<readonly MetricFamily[]> {
  return joinFamilies([fillRegistry(facts, schedule)]);
}

/** The facts of several accounts as values, with the names and labels of `renderAccountMetrics`. */
export async function listAccountFamilies(
  accounts: ReadonlyMap<string, MetricFacts>,
  options: AccountMetricsOptions,
): Promise<readonly MetricFamily[]> {
  return joinFamilies(fillRegistries(accounts, options));
}

async function joinFamilies(registries: readonly Registry[]): Promise<readonly MetricFamily[]> {
  const families = new Map<string, MetricFamily>();
  for (const registry of registries) {
    for (const { name, help, type, values } of await registry.getMetricsAsJSON()) {
      const samples = values.map(({ value, labels }) => ({ value, labels: toLabels(labels) }));
      const earlier = families.get(name)?.samples ?? [];
      const kind = String(type) === 'counter' ? 'counter' : 'gauge';
      families.set(name, { name, help, kind, samples: [...earlier, ...samples] });
    }
  }
  return [...families.values()];
}

/** An empty label means none, as it does to Prometheus. */
function toLabels(labels: Readonly<Record<string, string | number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(labels).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[name, String(value)]],
    ),
  );
}
