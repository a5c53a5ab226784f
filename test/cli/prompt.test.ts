import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createPrompt } from '../../src/cli/steps/prompt.ts';

function createTerminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  return { input, output, prompt: createPrompt(input, output) };
}

it('asks with the default in brackets and takes the answer', async () => {
  const { input, output, prompt } = createTerminal();
  const answer = prompt('Base URL', 'https://x');
  input.write(' https://y \n');
  await expect(answer).resolves.toBe('https://y');
  expect(String(output.read())).toContain('Base URL [https://x]: ');
});

it('takes the default for an empty answer', async () => {
  const { input, prompt } = createTerminal();
  const answer = prompt('Base URL', 'https://x');
  input.write('\n');
  await expect(answer).resolves.toBe('https://x');
});

it('does not wait for ever at the end of the input', async () => {
  const { input, prompt } = createTerminal();
  const answer = prompt('Base URL', 'https://x');
  input.end();
  await expect(answer).rejects.toMatchObject({ exitCode: 2 });
});
