// The structure of a tagged PDF: which of the drawn text is a heading, a paragraph or a cell, in
// the order in which it is read out. Everything else is marked as decoration.

export type Element = ReturnType<PDFKit.PDFDocument["struct"]>;
export type Tag = { readonly type: string; readonly element: Element };

export class Tags {
  readonly #doc: PDFKit.PDFDocument;
  readonly #root: Element;
  /** What is drawn now belongs to it; undefined: it is decoration. */
  #current: Tag | undefined;

  constructor(doc: PDFKit.PDFDocument) {
    this.#doc = doc;
    this.#root = doc.struct("Document");
    doc.addStructure(this.#root);
  }

  /** An element behind those that its parent has already; the document's own without a parent. */
  begin(type: string, parent?: Tag, scope?: "Row" | "Column"): Tag {
    // The types do not know the scope of a header cell.
    const options = (scope === undefined ? {} : { scope }) as { title?: string };
    const element = this.#doc.struct(type, options);
    (parent?.element ?? this.#root).add(element);
    return { type, element };
  }

  /** What `draw` draws belongs to the element. */
  within(tag: Tag, draw: () => void): void {
    const outer = this.#current;
    this.#current = tag;
    draw();
    this.#current = outer;
  }

  /** What `draw` draws is not read out: it is there already, or says nothing. */
  apart(draw: () => void): void {
    const outer = this.#current;
    this.#current = undefined;
    draw();
    this.#current = outer;
  }

  /** Every text and shape is drawn through here. */
  mark(draw: () => void): void {
    if (this.#current === undefined) {
      this.#doc.markContent("Artifact");
      draw();
      this.#doc.endMarkedContent();
      return;
    }
    const { type, element } = this.#current;
    const content = this.#doc.markStructureContent(type);
    draw();
    this.#doc.endMarkedContent();
    element.add(content);
  }

  /** Nothing can be added after this. */
  end(): void {
    this.#root.end();
  }
}
