import { strict as assert } from 'node:assert';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makePythonEnvironment } from '../interop/python-environment.ts';
import { askPanels } from './ask-panels.ts';
import { dashboardFile, rulesFile } from './monitoring-files.ts';
import { findTools } from './platform-tools.ts';
import { runProgram } from './run-program.ts';

/** The types of dashboards that Grafana publishes, for Grafana 10.1 and newer. */
const grafanaTypes = 'grafana-foundation-sdk==1769699998!10.1.0';

/** Alerts with promtool, the dashboard with Grafana's types, and its queries with a Prometheus that scrapes Sluice. */
export async function checkMonitoring(say: (text: string) => void): Promise<string> {
  const tools = findTools('promtool', 'prometheus');
  if ('problem' in tools) return `not checked: ${tools.problem}`;
  const python = makePythonEnvironment([grafanaTypes]);
  if ('problem' in python) return `not checked: ${python.problem}`;
  runProgram(tools.promtool, ['check', 'rules', rulesFile]);
  runProgram(tools.promtool, ['test', 'rules', 'test/deploy/alerts.promtool.yaml']);
  say('promtool saw each alert fire, and not fire');
  const lost = runProgram(join(python.bin, 'python'), ['test/deploy/read-dashboard.py', dashboardFile]);
  assert.equal(lost, '', `Grafana's own types do not know these of the dashboard:\n${lost}`);
  say("Grafana's own types know all that is in the dashboard");
  const folder = mkdtempSync(join(tmpdir(), 'sluice-monitoring-'));
  try {
    const { asked, empty } = await askPanels(tools.prometheus, folder);
    say(
      `${asked} queries of the dashboard answered; without a series, as nothing is wrong: ${empty.join(', ')}`,
    );
    return `fine; ${asked} queries of the dashboard asked of a Prometheus`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
