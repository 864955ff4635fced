// Numbers that look random and come from a seed: what a run chose can be chosen again.

// The seed that HALITE_SEED gives, or one of the moment, below 'most'.
export const seedOfRun = (most = 1000000) => Number(process.env.HALITE_SEED ?? Date.now() % most);

// splitmix64 (Steele, Lea and Flood 2014): the finishing step, on 64 bits.
export function mix(x) {
  let z = BigInt.asUintN(64, x);
  z = BigInt.asUintN(64, (z ^ z >> 30n) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ z >> 27n) * 0x94d049bb133111ebn);
  return z ^ z >> 31n;
}

export class Random {
  constructor(seed) { this.state = BigInt(seed); }
  next64() {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    return mix(this.state);
  }
  below(n) { return Number(this.next64() % BigInt(n)); }
}
