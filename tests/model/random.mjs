/*
 * Chances, from one seed for each round: that of the next follows from this one's, so a
 * round that fails is repeated by its own seed, at once.
 */
let seed = BigInt(process.env.HALITE_SEED || Date.now() % 1000000007);
let state = seed;

const mix = x => {
  let z = BigInt.asUintN(64, x);
  z = BigInt.asUintN(64, (z ^ z >> 30n) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ z >> 27n) * 0x94d049bb133111ebn);
  return z ^ z >> 31n;
};
export const seedOfRound = () => seed;
export function nextRound() {
  seed = mix(seed + 0x632be59bd9b4e019n) % 1000000007n;
  state = seed;
}
export function random64() {
  state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
  return mix(state);
}
export const below = n => Number(random64() % BigInt(n));
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
