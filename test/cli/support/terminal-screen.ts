/** What a terminal shows that wraps lines again when its width changes, as most do: one entry per row. */
export function createTerminalScreen(width: number) {
  let columns = width;
  let rows: { text: string; isWrapped: boolean }[] = [{ text: '', isWrapped: false }];
  let at = 0;

  const rowAt = (index: number) => (rows[index] ??= { text: '', isWrapped: false });

  function put(characters: string): void {
    for (const character of characters) {
      if (rowAt(at).text.length === columns) {
        rowAt(at).isWrapped = true;
        at += 1;
      }
      rowAt(at).text += character;
    }
  }

  function obey(sequence: string): void {
    const [, count, command] = /^\u001b\[\??(\d*)([A-Za-z])$/.exec(sequence) ?? [];
    if (command === 'A') at = Math.max(0, at - Number(count || 1));
    if (command === 'B') at += Number(count || 1);
    if (command === 'K' && count === '2') rows[at] = { text: '', isWrapped: false };
  }

  return {
    write(text: string): void {
      for (const part of text.match(/\u001b\[[?\d]*[A-Za-z]|\n|[^\u001b\n]+/g) ?? []) {
        if (part.startsWith('\u001b')) obey(part);
        else if (part === '\n') rowAt((at += 1));
        else put(part);
      }
    },
    /** Expects nothing below the cursor, as a display leaves it. */
    resize(next: number): void {
      const lines: string[] = [''];
      for (const { text, isWrapped } of rows.slice(0, at + 1)) {
        lines[lines.length - 1] += text;
        if (!isWrapped) lines.push('');
      }
      columns = next;
      rows = lines.slice(0, -1).flatMap((line) => {
        const parts = line.match(new RegExp(`.{1,${next}}`, 'gu')) ?? [''];
        return parts.map((text, i) => ({ text, isWrapped: i < parts.length - 1 }));
      });
      at = rows.length - 1;
    },
    rows: () => rows.map(({ text }) => text),
  };
}
