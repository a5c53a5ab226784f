import { readFileSync } from 'node:fs';
import { z } from 'zod';

const lines = z.union([z.string(), z.array(z.string()).transform((all) => all.join(''))]);
const cellSchema = z.object({
  cell_type: z.enum(['markdown', 'code']),
  id: z.string(),
  source: lines,
  execution_count: z.number().nullable().optional(),
  outputs: z
    .array(z.object({ output_type: z.string(), name: z.string().optional(), text: lines.optional() }))
    .optional(),
});
const notebookSchema = z.object({
  nbformat: z.literal(4),
  metadata: z.object({ kernelspec: z.object({ name: z.string() }) }),
  cells: z.array(cellSchema),
});

export type Notebook = z.infer<typeof notebookSchema>;

/** Reads a notebook as Jupyter stores it. */
export function readNotebook(file: string): Notebook {
  return notebookSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** What a code cell printed. */
export function readOutput({ cells }: Notebook, id: string): string {
  const cell = cells.find((one) => one.id === id);
  if (cell?.outputs === undefined) throw new Error(`the notebook has no code cell "${id}"`);
  return cell.outputs.map(({ text = '' }) => text).join('');
}
