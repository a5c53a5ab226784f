import { z } from 'zod';
import { configSchema } from '../src/model/config.ts';
import { configReference } from './config-reference.ts';

interface Node {
  description?: string;
  properties?: Record<string, Node>;
  additionalProperties?: Node | boolean;
  anyOf?: Node[];
}

/** JSON Schema of the config, for editors that complete and check YAML by one. */
export function writeEditorSchema(): Promise<string> {
  const schema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7', unrepresentable: 'any' });
  describe(schema as Node, []);
  const named = { ...schema, title: 'sluice.yaml', description: 'Config of Sluice: docs/configuration.md' };
  return Promise.resolve(`${JSON.stringify(named, undefined, 2)}\n`);
}

function describe(node: Node, path: readonly string[]): void {
  const key = path.join('.');
  const reference = Object.hasOwn(configReference, key) ? configReference[key] : undefined;
  if (reference !== undefined) node.description = toPlainText(reference.meaning);
  for (const part of [node, ...(node.anyOf ?? [])]) {
    for (const [name, child] of Object.entries(part.properties ?? {})) describe(child, [...path, name]);
    if (typeof part.additionalProperties === 'object')
      describe(part.additionalProperties, [...path, path.at(-1) === 'columns' ? '<field>' : '<name>']);
  }
}

/** Editors show descriptions as they are: links become their words. */
function toPlainText(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');
}
