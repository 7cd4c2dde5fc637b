// Reads URLs. Not by `URL.canParse`: once compiled, Node 20's says "no" to a host with an umlaut.

export function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
