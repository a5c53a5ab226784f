import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { pagingKinds } from '../../src/orders/orders.ts';
import { listBlocks, listCode, listTableRows, readText, root } from '../docs/markdown.ts';

describe('the registry', () => {
  it.each(Object.entries(connectors))(
    'has %s under its own name, with a folder, a README and a test',
    (name, connector) => {
      expect(connector.name).toBe(name);
      for (const file of [`connectors/${name}/connector.ts`, `connectors/${name}/README.md`])
        expect(existsSync(path.join(root, file)), file).toBe(true);
      expect(readText(`test/connectors/${name}.test.ts`)).toMatch(/^describeConnector\(/m);
    },
  );
});

describe('docs/writing-a-connector.md', () => {
  it('shows a connector that the tests run', () => {
    const [shown] = listBlocks('docs/writing-a-connector.md', 'ts');
    const run = readText('test/connectors/example-orders/connector.ts').replaceAll(
      '../../../src/',
      '../../src/',
    );
    expect(shown?.text).toBe(run);
    expect(readText('test/connectors/example-orders.test.ts')).toMatch(
      /^describeConnector\(exampleOrders, /m,
    );
  });

  it('names every order of pages', () => {
    const named = listTableRows(readText('docs/writing-a-connector.md')).map(
      ([first = '']) => listCode(first)[0],
    );
    expect(pagingKinds.filter((kind) => !named.includes(kind))).toEqual([]);
  });

  it('says what each member of a connector is', () => {
    const [steps = ''] = readText('docs/writing-a-connector.md').split('## Orders of pages');
    const told = listTableRows(steps).flatMap(([member = '']) => listCode(member));
    expect(told.toSorted()).toEqual(Object.keys(connectors['analytics-read']).toSorted());
  });
});
