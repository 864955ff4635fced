// ledger.mjs: what was sent, and when it was acknowledged, kept outside of the server.
//
// When is a place in the record of the disk: how long that was when the answer came.  So
// an acknowledgement counts at a cut when its place does not lie behind the cut.
export class Ledger {
    constructor() { this.keys = new Map(); }

    // Each key is written by one writer, one version after another; undefined: deleted.
    send(key, value) {
        const version = { value, acked: Infinity }, versions = this.keys.get(key);
        if (versions === undefined) this.keys.set(key, [version]);
        else versions.push(version);
        return version;
    }

    // What is wrong with 'seen', a map of keys, when all acknowledged up to the place
    // 'bound' must be there; and how many keys lack what was acknowledged up to 'cut'.
    compare(seen, bound, cut) {
        const wrong = [];
        let behind = 0;
        for (const [key, versions] of this.keys) {
            const value = seen.get(key);
            let least = -1, newest = -1;
            for (let i = 0; i < versions.length; i++) {
                if (versions[i].acked <= bound) least = i;
                if (versions[i].acked <= cut) newest = i;
            }
            const at = versions.findLastIndex((v) => v.value === value);
            const none = value === undefined && least < 0;
            if (at < least || (at < 0 && !none))
                wrong.push(`${key} is ${value}, acknowledged was ${least < 0 ? 'nothing' : versions[least].value}`);
            else if (at < newest) behind++;
        }
        for (const key of seen.keys())
            if (!this.keys.has(key)) wrong.push(`${key} is ${seen.get(key)}, which was never written`);
        return { wrong, behind };
    }

    // What was seen after a cut is what counts from here on.
    static after(seen) {
        const ledger = new Ledger();
        for (const [key, value] of seen) ledger.send(key, value).acked = 0;
        return ledger;
    }
}
