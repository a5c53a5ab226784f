import { describe, expect, it } from 'vitest';
import { scenarioGroups, scenarios } from '../../src/simulator/scenarios.ts';
import { runScenario } from '../support/run-scenario.ts';
import { listCode, listTableRows, readSection } from './markdown.ts';

/** A row of the page, as written. */
interface Told {
  readonly name: string;
  readonly sentence: string;
  readonly watch: string;
  readonly exitCode: number;
  readonly outcome: string;
  readonly says: string | undefined;
  readonly attempts: number;
  readonly requests: number;
}

const told = scenarioGroups.flatMap(({ title }) =>
  listTableRows(readSection('docs/lies.md', `## ${title}`)).map(readRow),
);

function readRow(cells: readonly string[]): Told {
  const [scenario = '', sentence = '', watch = '', exitCode, outcome = '', says = '', attempts, requests] =
    cells;
  return {
    name: listCode(scenario)[0] ?? '',
    sentence,
    watch,
    exitCode: Number(exitCode),
    outcome: listCode(outcome)[0] ?? '',
    says: listCode(says)[0],
    attempts: Number(attempts),
    requests: Number(requests),
  };
}

describe('docs/lies.md', () => {
  it('has every scenario of the simulator, in its words and its order', () => {
    expect(told.map(({ name, sentence, watch }) => ({ name, sentence, watch }))).toEqual(
      scenarios.map(({ name, sentence, watch }) => ({ name, sentence, watch })),
    );
  });

  it('says of everything that fails how it is reported', () => {
    expect(told.filter(({ exitCode, says }) => exitCode !== 0 && says === undefined)).toEqual([]);
  });

  it.each(told)('$name: exit code $exitCode, $outcome', async (row) => {
    const scenario = scenarios.find(({ name }) => name === row.name);
    if (scenario === undefined) throw new Error(`there is no scenario ${row.name}`);
    const { report, stream, requests } = await runScenario(scenario);
    expect({
      exitCode: report.exitCode,
      outcome: stream.error?.code ?? stream.verdict,
      attempts: stream.rescans + 1,
      requests,
    }).toEqual({
      exitCode: row.exitCode,
      outcome: row.outcome,
      attempts: row.attempts,
      requests: row.requests,
    });
    const said = [stream.error?.message, stream.error?.hint, ...stream.reasons, ...report.warnings].join(
      '\n',
    );
    expect(said).toContain(row.says ?? '');
    expect(stream.rows.deleted).toBe(0);
  });

  it('is right that the sync after a quiet restatement brings the new number', async () => {
    const scenario = scenarios.find(({ name }) => name === 'restated-quietly');
    const { flow } = await runScenario(scenario ?? pick());
    const [row] = await flow.query('SELECT count(*) AS n FROM main.prompts_analytics WHERE mentions >= 1000');
    expect(row).toEqual({ n: 1 });
  });
});

function pick(): never {
  throw new Error('there is no such scenario');
}
