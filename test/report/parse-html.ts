/** An element as it was opened. */
export interface HtmlElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const EMPTY = new Set(['meta', 'link', 'wbr']);
const PART =
  /<!doctype html>|<!--[\s\S]*?-->|<style>[\s\S]*?<\/style>|<\/([a-z][a-z0-9]*)\s*>|<([a-zA-Z][a-zA-Z0-9]*)((?:\s+[\w:-]+(?:="[^"<>]*")?)*)\s*(\/?)>|[^<>]+|[\s\S]/g;

/** Reads HTML as strictly as XML: whatever is not closed, quoted or escaped is an error. */
export function parseHtml(html: string): readonly HtmlElement[] {
  const elements: HtmlElement[] = [];
  const open: string[] = [];
  for (const match of html.matchAll(PART)) {
    const [whole, closing, opening, attributes = '', slash] = match;
    const { index } = match;
    if (whole === '<' || whole === '>')
      throw new Error(`a loose ${whole} after ${open.join(' ')}: ${html.slice(index, index + 120)}`);
    if (closing !== undefined) {
      const last = open.pop();
      if (last !== closing) throw new Error(`</${closing}> closes <${last ?? 'nothing'}>`);
    }
    if (opening === undefined) continue;
    elements.push({ tag: opening, attributes: readAttributes(attributes) });
    if (slash !== '/' && !EMPTY.has(opening)) open.push(opening);
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(' ')}`);
  return elements;
}

function readAttributes(text: string): Readonly<Record<string, string>> {
  const found = [...text.matchAll(/([\w:-]+)(?:="([^"]*)")?/g)];
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, decode(value)]));
}

/** What a reader sees of HTML, white space folded. */
export function listTexts(html: string): string {
  const body = html.slice(html.indexOf('<body>')).replaceAll(/<[^>]*>/g, '');
  return decode(body).replaceAll(/\s+/g, ' ');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#96;': '`',
  '&amp;': '&',
};

function decode(text: string): string {
  return text.replaceAll(/&(?:lt|gt|quot|#39|#96|amp);/g, (entity) => ENTITIES[entity] ?? entity);
}
