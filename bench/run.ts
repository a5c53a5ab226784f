import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ownPages, parts } from './parts/parts.ts';
import { buildInto } from './support/build.ts';
import { writeFinding } from './support/finding.ts';
import { describeMachine, writeMachine } from './support/machine.ts';
import { type Ratios, checkRatios, readRatios, writeRatios } from './support/ratios.ts';
import { readArguments, type Request } from './support/read-arguments.ts';
import { writeSection } from './support/write-page.ts';

const findPage = (part: string) => resolve(import.meta.dirname, '..', ownPages[part] ?? 'docs/benchmarks.md');

async function run({ names, size, write, check }: Request): Promise<void> {
  const recorded = new Map(
    names.map((name) => [name, check ? readRatios(readFileSync(findPage(name), 'utf8'), name) : {}]),
  );
  const chosen = names.filter((name) => !check || Object.keys(recorded.get(name) ?? {}).length > 0);
  if (chosen.length === 0) {
    process.stderr.write('There are no ratios to compare with yet: --write puts them there.\n');
    process.exitCode = 2;
    return;
  }
  const root = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  // Ctrl-C must not leave gigabytes behind.
  const leave = () => {
    rmSync(root, { recursive: true, force: true });
    process.exit(130);
  };
  process.once('SIGINT', leave);
  process.once('SIGTERM', leave);
  try {
    say('building');
    const build = await buildInto(join(root, 'build'));
    for (const name of chosen) {
      const folder = join(root, name);
      mkdirSync(folder);
      const machine = describeMachine();
      const findings = (await parts[name]?.({ size, folder, build, say })) ?? [];
      const ratios = Object.assign({}, ...findings.map((finding) => finding.ratios ?? {})) as Ratios;
      const section = [
        writeMachine(machine),
        ...findings.map(writeFinding),
        ...(Object.keys(ratios).length === 0 ? [] : [writeRatios(ratios)]),
      ].join('\n\n');
      process.stdout.write(`\n## ${name}\n\n${section}\n`);
      if (write) writeSection(findPage(name), name, section);
      for (const { isFine, words } of checkRatios(recorded.get(name) ?? {}, ratios)) {
        process.stdout.write(`${isFine ? 'holds ' : 'FAILED'} ${words}\n`);
        if (!isFine) process.exitCode = 1;
      }
      rmSync(folder, { recursive: true });
    }
  } finally {
    process.off('SIGINT', leave);
    process.off('SIGTERM', leave);
    rmSync(root, { recursive: true, force: true });
  }
}

const request = readArguments(process.argv.slice(2), Object.keys(parts));
if (typeof request === 'string') {
  process.stderr.write(`${request}\n`);
  process.exitCode = 2;
} else {
  await run(request);
}
