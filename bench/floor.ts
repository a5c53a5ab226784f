import { Pool } from 'undici';
import { z } from 'zod';
import { readPeakMb } from './support/peak-memory.ts';

// The least any tool can do with these pages: fetch, JSON.parse and zod; nothing is kept.
// Usage: floor.ts ORIGIN ROWS [flat|nested]
const flat = z.object({
  id: z.string(),
  date: z.string(),
  topicId: z.string(),
  entity: z.string(),
  mentions: z.number(),
  visibility: z.number(),
  rank: z.number().nullable(),
  observedAt: z.string(),
  isBranded: z.boolean(),
  meta: z.object({ model: z.string(), region: z.string(), score: z.number() }),
  tags: z.array(z.string()),
  answer: z.string(),
});
const nested = z.object({
  id: z.string(),
  date: z.string(),
  topicId: z.string(),
  mentions: z.number(),
  visibility: z.number(),
  rank: z.number().nullable(),
  meta: z.object({ model: z.string(), score: z.number() }),
  sources: z.array(z.object({ url: z.string(), rank: z.number(), share: z.number(), cited: z.boolean() })),
  answer: z.string(),
});
const [origin = '', rowsText = '0', shape = 'flat'] = process.argv.slice(2);
const record: z.ZodType = shape === 'nested' ? nested : flat;
const page = z.object({
  data: z.array(record),
  pagination: z.object({ total: z.number(), hasMore: z.boolean() }),
});

const rows = Number(rowsText);
const pool = new Pool(origin, { connections: 8 });
const startedAt = performance.now();
const cpuAtStart = process.cpuUsage();
let next = 0;
let read = 0;
await Promise.all(
  Array.from({ length: 8 }, async () => {
    for (let offset = next; offset < rows; offset = next) {
      next += 100;
      const { body } = await pool.request({ path: `/v1/items?limit=100&offset=${offset}`, method: 'GET' });
      read += page.parse(JSON.parse(await body.text())).data.length;
    }
  }),
);
const seconds = (performance.now() - startedAt) / 1_000;
const { user, system } = process.cpuUsage(cpuAtStart);
const cpuSeconds = (user + system) / 1_000_000;
await pool.close();
process.stdout.write(
  `${JSON.stringify({
    rows: read,
    seconds,
    cpuSeconds,
    peakMb: readPeakMb(),
  })}\n`,
);
