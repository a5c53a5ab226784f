import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askPanels } from './ask-panels.ts';
import { rulesFile } from './monitoring-files.ts';
import { findTools } from './platform-tools.ts';
import { runProgram } from './run-program.ts';

/** Alerts with promtool, and the queries of the dashboard with a Prometheus that scrapes Sluice. */
export async function checkMonitoring(say: (text: string) => void): Promise<string> {
  const tools = findTools('promtool', 'prometheus');
  if ('problem' in tools) return `not checked: ${tools.problem}`;
  runProgram(tools.promtool, ['check', 'rules', rulesFile]);
  runProgram(tools.promtool, ['test', 'rules', 'test/deploy/alerts.promtool.yaml']);
  say('promtool saw each alert fire, and not fire');
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
