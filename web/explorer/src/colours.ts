import { scaleLinear } from 'd3-scale';

// What colours say: of signed numbers orange below zero, grey at zero, blue above, in a range that is
// the same both ways; of probabilities white to purple, 0 to 1; of ink black on white. Sign and size
// are always printed too.

export type Scale = 'signed' | 'probability' | 'ink';
export type Rgb = [number, number, number];

const stops: Record<Scale, { domain: number[]; colours: string[] }> = {
  signed: { domain: [-1, 0, 1], colours: ['#f59322', '#e8eaeb', '#0877bd'] },
  probability: { domain: [0, 1], colours: ['#ffffff', '#5e2b97'] },
  ink: { domain: [0, 1], colours: ['#ffffff', '#111111'] },
};

const steps = 255;
const tables = new Map<Scale, Rgb[]>();

function table(scale: Scale): Rgb[] {
  let found = tables.get(scale);
  if (!found) {
    const { domain, colours } = stops[scale];
    const colour = scaleLinear<string>().domain(domain).range(colours);
    const [low, high] = [domain[0], domain[domain.length - 1]];
    found = Array.from({ length: steps + 1 }, (_, i) => {
      const rgb = colour(low + ((high - low) * i) / steps).match(/\d+/g)!.map(Number);
      return [rgb[0], rgb[1], rgb[2]];
    });
    tables.set(scale, found);
  }
  return found;
}

/** The colour of `x` where the scale reaches to `range`. */
export function colour(x: number, scale: Scale, range: number): Rgb {
  if (!Number.isFinite(x)) return [220, 0, 120];
  const t = range > 0 ? Math.max(-1, Math.min(1, x / range)) : 0;
  const place = scale === 'signed' ? (t + 1) / 2 : Math.max(0, t);
  return table(scale)[Math.round(place * steps)];
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r}, ${g}, ${b})`;

/** A gradient for a legend, from the scale's low end to its high end. */
export const gradient = (scale: Scale): string => `linear-gradient(to right, ${stops[scale].colours.join(', ')})`;
