// A deadline for work that goes on by itself: its caller is refused when the time is over.

import type { Refusal } from "../errors.ts";

export async function within<T>(ms: number, work: Promise<T>, refusal: Refusal): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(refusal), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
