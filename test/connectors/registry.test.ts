import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectors } from '../../connectors/registry.ts';
import { listCode, listTableRows, readText, root } from '../docs/markdown.ts';

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
  it('says what each member of a connector is', () => {
    const told = listTableRows(readText('docs/writing-a-connector.md')).flatMap(([member = '']) =>
      listCode(member),
    );
    expect(told.toSorted()).toEqual(Object.keys(connectors['analytics-read']).toSorted());
  });
});
