import type { Config } from './engine';

// The names of rows and columns, as people read them.

export const tokenName = (token: number, { W, P }: Config): string => {
  if (token === 0) return 'class token';
  const across = W / P;
  return `patch ${Math.floor((token - 1) / across) + 1}, ${((token - 1) % across) + 1}`;
};
/** The same, to begin a sentence. */
export const whichToken = (token: number, config: Config): string => (token === 0 ? 'The class token' : tokenName(token, config).replace('p', 'P'));
export const features = (config: Config) => (row: number, col: number): string =>
  `${tokenName(row, config)} · number ${col + 1}`;

/** Says whether this is on the screen, or this near to it, until what is returned is called. */
export function watched(place: Element, say: (visible: boolean) => void, rootMargin = '0px'): () => void {
  const watch = new IntersectionObserver((entries) => say(entries.at(-1)!.isIntersecting), { rootMargin });
  watch.observe(place);
  return () => watch.disconnect();
}
