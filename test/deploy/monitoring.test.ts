import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Family } from '../metrics/parse-metrics.ts';
import { listBlocks, readText } from '../docs/markdown.ts';
import { readYaml } from './manifests.ts';
import { alerts, dashboard, listSelectors, panels, type Selector } from './monitoring-files.ts';
import { printMetrics } from './printed-metrics.ts';

const printed = await printMetrics();
const families = new Map<string, Family>(
  [...printed.one, ...printed.accounts, ...printed.fleet].map((family) => [family.name, family]),
);
const variables = dashboard.templating.list;
const expressions = [
  ...alerts.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ...variables.map(({ name, query }) => [name, JSON.stringify(query).replaceAll('\\', '')] as const),
];

/** What is wrong with a series that is asked for: no metric, label or value of a label like it is printed. */
function findFlaws({ name, labels }: Selector): readonly string[] {
  const family = families.get(name);
  if (family === undefined) return [`${name} is not printed`];
  return labels.flatMap(({ name: label, value }) => {
    const values = new Set(family.samples.flatMap((sample) => sample.labels[label] ?? []));
    if (values.size === 0) return [`${name} has no label ${label}`];
    if (value.startsWith('$')) return [];
    return value.split('|').flatMap((one) => (values.has(one) ? [] : [`${name} has no ${label}="${one}"`]));
  });
}

describe('dashboard and alerts', () => {
  it.each(expressions)('%s asks for series that are printed: %s', (_, expr) => {
    expect(listSelectors(expr, 'sluice').flatMap(findFlaws)).toEqual([]);
  });

  it('are known not to be right when a series has another name, label or value', () => {
    const flaws = listSelectors(
      'sluice_gone or sluice_up{stream="a"} or sluice_stream_verdict{verdict=~"partial|fine"}',
      'sluice',
    ).flatMap(findFlaws);
    expect(flaws).toEqual([
      'sluice_gone is not printed',
      'sluice_up has no label stream',
      'sluice_stream_verdict has no verdict="fine"',
    ]);
  });

  it('use every metric but those that others say as well', () => {
    const used = new Set(expressions.flatMap(([, expr]) => expr.match(/\bsluice_\w+/g) ?? []));
    expect([...families.keys()].filter((name) => !used.has(name)).toSorted()).toEqual([
      'sluice_last_run_end_timestamp_seconds',
      'sluice_last_run_start_timestamp_seconds',
      'sluice_up',
    ]);
  });

  it('have the same expressions as the alerts in the docs', () => {
    const schema = z.object({
      groups: z.array(
        z.object({
          rules: z.array(z.object({ alert: z.string(), expr: z.string(), for: z.string().optional() })),
        }),
      ),
    });
    const documented = ['docs/schedule.md', 'docs/fleet.md'].flatMap((page) =>
      listBlocks(page, 'prometheus').flatMap(({ text }) =>
        schema.parse(parse(text)).groups.flatMap(({ rules }) => rules),
      ),
    );
    expect(documented.length).toBeGreaterThan(10);
    const known = new Map(alerts.map(({ alert, expr, for: lasts }) => [alert, { expr, for: lasts }]));
    for (const { alert, ...rule } of documented)
      expect({ alert, ...known.get(alert) }).toEqual({ alert, ...rule });
  });
});

describe('alerts', () => {
  it('lead to a section of docs/alerts.md each, which has no others', () => {
    const headings = [...readText('docs/alerts.md').matchAll(/^## (Sluice\w+)$/gm)].map(([, name]) => name);
    expect(headings.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations } of alerts)
      expect(annotations.runbook).toBe(`docs/alerts.md#${alert.toLowerCase()}`);
  });

  it('are each seen to fire, and not to fire, by promtool', () => {
    const { tests } = z
      .object({
        tests: z.array(
          z.object({
            alert_rule_test: z.array(
              z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()).default([]) }),
            ),
          }),
        ),
      })
      .parse(readYaml('test/deploy/alerts.promtool.yaml'));
    const tried = tests.flatMap((test) => test.alert_rule_test);
    const firing = tried.filter((one) => one.exp_alerts.length > 0).map(({ alertname }) => alertname);
    expect([...new Set(firing)].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });
});

describe('the dashboard', () => {
  it('asks the data source that is chosen, by variables that it has', () => {
    expect(variables.map(({ name, type }) => [name, type])).toEqual([
      ['datasource', 'datasource'],
      ['account', 'query'],
      ['stream', 'query'],
    ]);
    const used = new Set(
      panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => expr.match(/\$\w+/g) ?? [])),
    );
    expect([...used].toSorted()).toEqual(['$account', '$stream']);
  });

  it('has panels that do not overlap, each with a number of its own', () => {
    const all = dashboard.panels.flatMap((panel) => [
      panel,
      ...('panels' in panel ? (panel['panels'] as typeof panels) : []),
    ]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    const cells = all.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(all.filter(({ gridPos: { w, x } }) => x + w > 24)).toEqual([]);
  });
});
