// All attacks, in the order of their files.  One that is 'light' costs the server so
// little that a baseline client's waiting tells of it beside others, too; one 'byHand' is
// for --long, or its name.
import slow from './slow.mjs';
import scarce from './scarce.mjs';
import oversize from './oversize.mjs';
import requestSmuggling from './request_smuggling.mjs';
import proxies from './proxies.mjs';
import heavy from './heavy.mjs';
import names from './names.mjs';
import rights from './rights.mjs';

export const attacks = [...slow, ...scarce, ...oversize, ...requestSmuggling, ...proxies, ...heavy, ...names, ...rights];
