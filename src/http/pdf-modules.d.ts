// Shapes of the two text libraries that bring none of their own, as far as they are used.

declare module "bidi-js" {
  export type Bidi = {
    getEmbeddingLevels(text: string, base?: "ltr" | "rtl" | "auto"): { levels: Uint8Array };
    getMirroredCharacter(char: string): string | null;
  };
  export default function bidiFactory(): Bidi;
}

declare module "wawoff2" {
  const wawoff2: { decompress(font: Uint8Array): Promise<Uint8Array> };
  export default wawoff2;
}
