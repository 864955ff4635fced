// disk.mjs: the record of shim.c, and the folders that a power cut could have left.
//
// A disk knows of each file what is on it for sure, because a sync that covers it came
// back, and what was done since; and of each folder the same about its names.
import fs from 'node:fs';
import path from 'node:path';

const HEAD = 33;

// Calls 'each' with {type, time, file, offset, path, data, at, end}; returns how far it got.
export function readRecord(bytes, each) {
    let at = 0;
    while (at + HEAD <= bytes.length) {
        const pathSize = bytes.readUInt32LE(at + 25), size = bytes.readUInt32LE(at + 29);
        const end = at + HEAD + pathSize + size;
        if (end > bytes.length) break;
        each({
            type: String.fromCharCode(bytes[at]), at, end,
            time: Number(bytes.readBigUInt64LE(at + 1)),
            file: bytes.readBigUInt64LE(at + 9),
            offset: Number(bytes.readBigUInt64LE(at + 17)),
            path: bytes.toString('utf8', at + HEAD, at + HEAD + pathSize),
            data: bytes.subarray(at + HEAD + pathSize, end),
        });
        at = end;
    }
    return at;
}

// Bytes with room to grow.
class Image {
    constructor(bytes) { this.bytes = Buffer.from(bytes); this.size = bytes.length; }
    static of(image) { return new Image(image.bytes.subarray(0, image.size)); }
    resize(size) {
        if (size > this.bytes.length) {
            const more = Buffer.alloc(Math.max(size, 2 * this.bytes.length, 4096));
            this.bytes.copy(more, 0, 0, this.size);
            this.bytes = more;
        }
        if (size > this.size) this.bytes.fill(0, this.size, size);
        this.size = size;
    }
    apply(op, upTo = Infinity) { // of a write only so many bytes
        if (op.data === undefined) return this.resize(op.size);
        const size = Math.min(op.data.length, upTo);
        if (op.offset + size > this.size) this.resize(op.offset + size);
        op.data.copy(this.bytes, op.offset, 0, size);
    }
    content() { return this.bytes.subarray(0, this.size); }
}

// 'since' is what was done and is not yet on the disk for sure, 'spent' how much was.
class File {
    constructor(bytes = Buffer.alloc(0)) { this.durable = new Image(bytes); this.since = []; this.spent = 0; }
    synced(upTo) { // all that was done up to there
        for (const op of this.since.splice(0, Math.max(0, upTo - this.spent))) this.durable.apply(op);
        this.spent = Math.max(upTo, this.spent);
    }
}

class Folder {
    constructor() { this.names = new Map(); this.durable = new Map(); this.since = []; this.spent = 0; }
    change(op) { op(this.names); this.since.push(op); }
    synced(upTo) {
        for (const op of this.since.splice(0, Math.max(0, upTo - this.spent))) op(this.durable);
        this.spent = Math.max(upTo, this.spent);
    }
    settle() { this.durable = new Map(this.names); this.since = []; }
}

export const models = ['dropped', 'torn', 'holes', 'strict'];

export class Disk {
    constructor(root) {
        this.root = root;
        this.top = new Folder();
        this.files = new Map();   // by number of the record
        this.walSynced = { at: 0, time: 0 };
        this.now = 0;
    }

    // All that lies in 'dir' is on the disk.
    load(dir, folder = this.top) {
        for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
            const child = entry.isDirectory() ? new Folder() : new File(fs.readFileSync(path.join(dir, entry.name)));
            if (entry.isDirectory()) this.load(path.join(dir, entry.name), child);
            folder.names.set(entry.name, child);
        }
        folder.settle();
    }

    // The folder that holds the path, and the name in it; null outside.
    find(full) {
        const parts = path.relative(this.root, path.normalize(full)).split('/');
        if (parts[0] === '..') return null;
        const name = parts.pop();
        let folder = this.top;
        for (const part of parts) folder = folder.names.get(part);
        return { folder, name };
    }
    node(full) {
        const where = this.find(full);
        if (where === null) return null;
        return where.name === '' ? this.top : where.folder.names.get(where.name);
    }

    apply(r) {
        const f = this.files.get(r.file);
        this.now = r.time;
        switch (r.type) {
        case 'o': return this.open(r);
        case 'w': f.node.since.push({ offset: r.offset, data: r.data }); return;
        case 't': f.node.since.push({ size: r.offset }); return;
        case 'S': if (f.node !== null) f.syncs.push({ len: f.node.spent + f.node.since.length, at: r.at, time: r.time }); return;
        case 's': return this.synced(f);
        case 'm': return this.change(r.path, (names, name, made) => names.set(name, made));
        case 'd': case 'u': return this.change(r.path, (names, name) => names.delete(name));
        case 'r': return this.rename(r.path, r.data.toString());
        default: throw new Error(`record of type ${r.type}`);
        }
    }
    change(full, op) {
        const where = this.find(full), made = new Folder();
        if (where === null || where.name === '') return;
        where.folder.change((names) => op(names, where.name, made));
    }
    rename(from, to) {
        const a = this.find(from), b = this.find(to), node = a.folder.names.get(a.name);
        if (a.folder !== b.folder) throw new Error('a file moved between folders');
        a.folder.change((names) => { names.delete(a.name); names.set(b.name, node); });
    }
    open(r) {
        let node = this.node(r.path);
        if ((r.offset & 1) !== 0 && node === undefined) {
            const made = new File(), where = this.find(r.path);
            where.folder.change((names) => names.set(where.name, made));
            node = made;
        }
        if (node === undefined) throw new Error(`opened, and never made: ${r.path}`);
        if ((r.offset & 2) !== 0 && node instanceof File) node.since.push({ size: 0 });
        const wal = /\/journal\/\d+\.wal$/.test(r.path);
        this.files.set(r.file, { node, wal, syncs: [] });
    }
    // Two syncs of a file may overlap: the first to come back takes what it covers.
    synced(f) {
        if (f.node === null) return;
        const sync = f.syncs.shift();
        f.node.synced(sync.len);
        if (f.wal && sync.at > this.walSynced.at) this.walSynced = { at: sync.at, time: sync.time };
    }

    // Writes a folder that power could have left, by one of the models.
    leave(model, dir, random) { this.leaveFolder(this.top, model, dir, random); }
    leaveFolder(folder, model, dir, random) {
        let names = folder.names;
        fs.mkdirSync(dir, { recursive: true });
        if (model === 'strict') {
            names = new Map(folder.durable);
            const len = random(2) === 0 ? 0 : random(folder.since.length + 1);
            for (const op of folder.since.slice(0, len)) op(names);
        }
        for (const [name, node] of names) {
            if (node instanceof Folder) this.leaveFolder(node, model, path.join(dir, name), random);
            else fs.writeFileSync(path.join(dir, name), content(node, model, random));
        }
    }
}

function content(file, model, random) {
    if (model === 'strict') model = ['dropped', 'dropped', 'torn', 'holes'][random(4)];
    if (model === 'torn') return torn(file, random);
    if (model === 'holes') return holes(file, random);
    return file.durable.content();
}
// What was done first is there first, up to some byte.
function torn(file, random) {
    const image = Image.of(file.durable), len = random(file.since.length + 1);
    for (const op of file.since.slice(0, len)) image.apply(op);
    if (len < file.since.length) {
        const op = file.since[len];
        if (op.data !== undefined) image.apply(op, random(op.data.length + 1));
    }
    return image.content();
}
// The size is there, and of the pages some: others are as they were, or zeros.
function holes(file, random) {
    const image = Image.of(file.durable), page = random(8) === 0 ? 512 : 4096;
    for (const op of file.since) image.apply(op);
    const dirty = new Set(), keep = [15, 50, 85, 97][random(4)];
    let shortest = file.durable.size;
    for (const op of file.since) {
        if (op.data === undefined) { shortest = Math.min(shortest, op.size); continue; }
        for (let at = Math.floor(op.offset / page); at * page < op.offset + op.data.length; at++) dirty.add(at);
    }
    for (const at of dirty) {
        if (random(100) < keep) continue;
        const from = at * page, to = Math.min(from + page, image.size), old = Math.min(to, shortest);
        if (from >= to) continue;
        image.bytes.fill(0, from, to);
        if (old > from) file.durable.bytes.copy(image.bytes, from, from, old);
    }
    return image.content();
}
