import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readContractSchema } from '../../src/config/read-contract-schema.ts';
import { runSync } from '../../src/sync/run.ts';
import { discoverItems, discoverStreams, type ItemsCase, makeSettings } from '../support/discover-harness.ts';
import { createSimulatorTransport } from '../support/simulator-transport.ts';
import { type FlowConfig, makeItems, START_MS } from '../support/sync-harness.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const write = { force: false };
const force = { force: true };

function fileOf(folder: string, stream = 'items'): string {
  return join(folder, 'contracts', `${stream}.schema.json`);
}

async function save(records: readonly unknown[], given: ItemsCase = {}) {
  const found = await discoverItems(records, { write, probes: false, ...given });
  const file = fileOf(found.folder);
  const schema = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly required?: readonly string[];
    readonly properties: Readonly<Record<string, { readonly type?: unknown }>>;
  };
  return { ...found, file, schema, contract: found.report.contracts[0] };
}

describe('a contract', () => {
  it('is a JSON Schema next to the config, which the config then reads', async () => {
    const { file, folder, contract, schema } = await save(makeItems(300));
    expect(contract).toEqual({ stream: 'items', path: file, state: 'written', differences: [] });
    expect(schema).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'items',
      type: 'object',
      properties: {
        id: { type: 'integer' },
        date: { type: 'string', format: 'date' },
        name: { type: 'string' },
        amount: { type: 'integer' },
      },
      required: ['id', 'date', 'name', 'amount'],
    });
    expect(readdirSync(join(folder, 'contracts'))).toEqual(['items.schema.json']);
    expect(readContractSchema({ baseDir: folder }, 'items')?.json).toEqual(schema);
  });

  it('requires only what every sampled record had, and allows null elsewhere', async () => {
    const rows = makeItems(300).map((item) => ({
      id: item.id,
      name: item.id === 250 ? null : item.name,
      ...(item.id > 5 && { amount: item.amount }),
      meta: item.id === 7 ? null : { model: 'a', note: item.id === 8 ? null : 'b' },
    }));
    const { schema } = await save(rows);
    expect(schema.required).toEqual(['id']);
    expect(schema.properties).toMatchObject({
      id: { type: 'integer' },
      name: { type: ['string', 'null'] },
      amount: { type: ['integer', 'null'] },
      meta: { type: ['object', 'null'], properties: { model: { type: ['string', 'null'] } } },
    });
  });

  it('requires nothing where the sample is too small to tell', async () => {
    const small = await save(makeItems(1_000), { pages: 1, stream: { pageSize: 10 } });
    expect(small.schema.required).toBeUndefined();
    const whole = await save(makeItems(10));
    expect(whole.schema.required).toEqual(['id', 'date', 'name', 'amount']);
  });

  it('knows nothing of excluded fields, and hashed ones as text', async () => {
    const rows = makeItems(50).map((item) => ({ ...item, email: 12, ssn: 'x' }));
    const { schema } = await save(rows, {
      config: { defaults: { hashKey: 'a key of these tests' } },
      stream: { columns: { email: { hash: true }, ssn: { exclude: true } } },
    });
    expect(schema.properties).toMatchObject({ email: { type: 'string' } });
    expect(schema.properties).not.toHaveProperty('ssn');
  });

  it('of a stream without records is not written', async () => {
    const { report, folder } = await discoverItems([], { write });
    expect(report.contracts).toEqual([]);
    expect(existsSync(join(folder, 'contracts'))).toBe(false);
  });

  it('says the same when it is written again', async () => {
    const { folder } = await save(makeItems(300));
    expect((await save(makeItems(300), { folder })).contract?.state).toBe('unchanged');
  });
});

describe('a file that is there', () => {
  const edited = JSON.stringify({
    type: 'object',
    properties: {
      id: { type: 'string' },
      gone: { type: 'boolean' },
      meta: { type: 'object', properties: { a: {} } },
    },
    required: ['id', 'gone'],
  });

  it('is not up to date where a sync refuses it for a name given twice', async () => {
    const { folder } = await save(makeItems(50));
    const text = readFileSync(fileOf(folder), 'utf8').replace('{', '{ "type": "object",');
    writeFileSync(fileOf(folder), text);
    expect((await save(makeItems(50), { folder })).contract).toMatchObject({
      state: 'kept',
      differences: [expect.stringMatching(/^\/type is named more than once/)],
    });
  });

  it('is kept, byte for byte, and told how it differs', async () => {
    const { folder } = await save(makeItems(50));
    writeFileSync(fileOf(folder), edited);
    const again = await save(makeItems(50), { folder });
    expect(again.contract).toEqual({
      stream: 'items',
      path: fileOf(folder),
      state: 'kept',
      differences: [
        'date is not in the file',
        'name is not in the file',
        'amount is not in the file',
        'gone was not found',
        'meta was not found',
        'meta.a was not found',
        'id is string, required in the file, found: integer, required',
      ],
    });
    expect(readFileSync(fileOf(folder), 'utf8')).toBe(edited);
  });

  it('is replaced with force', async () => {
    const { folder, schema } = await save(makeItems(50));
    writeFileSync(fileOf(folder), edited);
    const again = await save(makeItems(50), { folder, write: force });
    expect(again.contract?.state).toBe('replaced');
    expect(again.contract?.differences).toContain('gone was not found');
    expect(again.schema).toEqual(schema);
  });

  it('is not a contract: kept as well', async () => {
    const { folder } = await save(makeItems(50));
    for (const text of ['no json', '[]', 'null', '{"type":"object"}']) {
      writeFileSync(fileOf(folder), text);
      const { report } = await discoverItems(makeItems(50), { folder, write, probes: false });
      expect(report.contracts[0]?.state).toBe('kept');
      expect(report.configLines).not.toContain('freeze');
      expect(readFileSync(fileOf(folder), 'utf8')).toBe(text);
    }
  });
});

describe('lines for the config', () => {
  it('name key, cursor and contract, and are what the config takes', async () => {
    const { report } = await discoverStreams({ write });
    expect(report.configLines).toBe(
      [
        'streams:',
        '  visibility_mentions:',
        '    key: [mentionId]',
        '    cursor: { field: date, param: startDate }',
        '    contract: freeze',
        '  prompts_analytics:',
        '    key: [date, promptId]',
        '    cursor: { field: date, param: startDate }',
        '    contract: freeze',
        '  commerce_category_products:',
        '    key: [categoryId, productId]',
        '    contract: freeze',
        '  commerce_top_products:',
        '    key: [date, region, rank]',
        '    cursor: { field: date, param: startDate }',
        '    contract: freeze',
      ].join('\n'),
    );
  });

  it('leave out what config says already, and a cursor that was not tried', async () => {
    const tried = { endpoint: { dateField: 'date' }, write };
    const told = await discoverItems(makeItems(200), {
      ...tried,
      stream: { key: ['id'], cursor: { field: 'date' }, contract: 'freeze' },
    });
    expect(told.report.configLines).toBeUndefined();
    const untried = await discoverItems(makeItems(200), { ...tried, write: undefined, probes: false });
    expect(untried.report.configLines).toBe('streams:\n  items:\n    key: [id]');
  });

  it('lead to a sync that the contract lets through', async () => {
    const { folder, report, simulator } = await discoverStreams({ write });
    const { streams } = parse(report.configLines ?? '') as Pick<FlowConfig, 'streams'>;
    const clock = createVirtualClock({ startMs: START_MS });
    const settings = makeSettings(folder, { ...(streams && { streams }) }, clock.now(), 'read');
    expect(settings.streams.every(({ contract }) => contract.schema !== undefined)).toBe(true);
    const transport = createSimulatorTransport(simulator, clock);
    const synced = await runSync(settings, { clock, transport, random: () => 0.5 });
    expect(synced.error).toBeUndefined();
    expect(synced.streams.map(({ verdict, rows }) => [verdict, rows.quarantined])).toEqual(
      synced.streams.map(() => ['verified', 0]),
    );
    expect(synced.exitCode).toBe(0);
  });
});
