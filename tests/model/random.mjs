/*
 * Chances, from one seed for each round: that of the next follows from this one's, so a
 * round that fails is repeated by its own seed, at once.
 */
import { mix, Random, seedOfRun } from '../random.mjs';

let seed = BigInt(seedOfRun(1000000007));
let chances = new Random(seed);

export const seedOfRound = () => seed;
export function nextRound() {
  seed = mix(seed + 0x632be59bd9b4e019n) % 1000000007n;
  chances = new Random(seed);
}
export const random64 = () => chances.next64();
export const below = n => chances.below(n);
export const pick = list => list[below(list.length)];
export const chance = percent => below(100) < percent;
export function shuffle(list) {
  for (let i = list.length - 1; i > 0; i--) {
    const k = below(i + 1);
    [list[i], list[k]] = [list[k], list[i]];
  }
  return list;
}
/* 'n' of them at most, one at least. */
export const some = (list, n) => shuffle([...list]).slice(0, 1 + below(Math.min(n, list.length)));
