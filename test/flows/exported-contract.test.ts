import { describe, expect, it } from 'vitest';
import { exportSchema } from '../../src/commands/contracts/export-schema.ts';
import { diffSchema } from '../../src/commands/contracts/read-schema.ts';
import { rawJson } from '../../src/simulator/raw-json.ts';
import { writeContractFile } from '../support/contract-flow.ts';
import { createItemsFlow, type Flow, noBuiltIns, streamOf } from '../support/sync-harness.ts';

const stream = { path: 'items', paginated: true, cursor: false, key: ['id'] } as const;

/** Values of fields, of each of which one column is made. */
const fields: Readonly<Record<string, readonly string[]>> = {
  plain: ['"a"', '"b"', 'null'],
  mixed: ['1', '"a"', 'null'],
  truth: ['true', '"yes"', '1.5'],
  huge: ['1e400', '1', '2'],
  long: ['12345678901234567890123456789012345678901234567890', '1', '0.1'],
  decimals: ['0.12345678901234567890123', '0.5', '1e300'],
  day: ['"2026-01-01"', '"n/a"', '7'],
  dated: ['"2026-01-01"', '"2026-01-02"', 'null'],
  list: ['[1]', '"a"', '5'],
  nested: ['{"a":1,"b":"x"}', '{"a":"x"}', '{"b":true}'],
  either: ['{"a":1}', '"x"', '5'],
};
const records = Array.from({ length: 30 }, (_, at) =>
  rawJson(
    `{"id":${at},${Object.entries(fields)
      .map(([name, values]) => `"${name}":${values[at % values.length]}`)
      .join(',')}}`,
  ),
);

async function exportContract(flow: Flow): Promise<Readonly<Record<string, { readonly type?: unknown }>>> {
  const { files } = await exportSchema(flow.settings(), { streams: ['items'], format: 'json-schema' });
  const text = files[0]?.text ?? '';
  writeContractFile(flow, text);
  return (JSON.parse(text) as { properties: Record<string, { type?: unknown }> }).properties;
}

describe('a contract that was exported', () => {
  it('is kept by the data that it was learned of', async () => {
    const flow = createItemsFlow(records, { stream });
    await flow.sync();
    const properties = await exportContract(flow);
    expect(properties).toMatchObject({
      plain: { type: ['string', 'null'] },
      mixed: { type: ['integer', 'string', 'null'] },
      truth: { type: ['boolean', 'number', 'string'] },
      huge: { type: 'number' },
      dated: { type: ['string', 'null'], format: 'date' },
      nested: { properties: { a: { type: ['integer', 'string', 'null'] } } },
    });
    const config = {
      streams: { ...noBuiltIns, items: { ...stream, key: ['id'], contract: 'freeze' as const } },
    };
    const report = await flow.sync({ force: true, config });
    expect(report.exitCode, streamOf(report).error?.message).toBe(0);
    expect(report.rows).toMatchObject({ unchanged: 30, quarantined: 0 });
    expect(await diffSchema(flow.settings(config))).toMatchObject({ differs: false });
  });

  it('knows what later values added, and what only a full scan has seen', async () => {
    const flow = createItemsFlow(
      [
        { id: 1, v: 'a' },
        { id: 2, v: 'b' },
      ],
      { stream },
    );
    await flow.sync();
    expect((await exportContract(flow))['v']).toEqual({ type: 'string' });
    flow.simulator.editRecords('items', () => [
      { id: 1, v: 'a' },
      { id: 2, v: 5 },
    ]);
    const open = { streams: { ...noBuiltIns, items: { ...stream, key: ['id'], columns: {} } } };
    writeContractFile(flow, { type: 'object' });
    expect((await flow.sync({ force: true, config: open })).exitCode).toBe(0);
    expect((await exportContract(flow))['v']).toEqual({ type: ['integer', 'string'] });
  });
});
