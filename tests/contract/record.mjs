// SPDX-License-Identifier: Apache-2.0
// record.mjs OUT PID SOCKET...: stands before a control plane.  Each SOCKET is
// answered by what listens on SOCKET.r; every byte is passed on as it comes,
// in both directions, and when a connection ends both sides of it are a file
// in OUT.  Ends when process PID, which started it, does.
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";

const [out, parent, ...sockets] = process.argv.slice(2);
const limit = 8 * 1024 * 1024; // of one side of one connection
let open = 0;
let idle = 0; // tenths of a second since it ended
let files = 0; // many small ones: a story may have limited their size

function passOn(from, to, kept) {
  let size = 0;
  from.on("data", (chunk) => {
    size += chunk.length;
    if (size <= limit) kept.push(chunk);
    else kept.cut = true;
    if (!to.write(chunk)) from.pause();
  });
  to.on("drain", () => from.resume());
  from.on("end", () => to.end());
  from.on("error", () => to.destroy());
  from.on("close", () => to.destroySoon());
}

function stand(path) {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const daemon = connect({ path: `${path}.r`, allowHalfOpen: true });
    const asked = [];
    const answered = [];
    open++;
    passOn(client, daemon, asked);
    passOn(daemon, client, answered);
    daemon.on("close", () => {
      open--;
      const text = (list) => Buffer.concat(list).toString("base64");
      if (asked.length > 0 && !asked.cut && !answered.cut)
        writeFileSync(`${out}/${process.pid}.${files++}.jsonl`, JSON.stringify({ asked: text(asked), answered: text(answered) }) + "\n");
    });
  });
  rmSync(path, { force: true });
  server.listen(path, () => chmodSync(path, 0o666));
}

sockets.forEach(stand);
setInterval(() => {
  if (process.ppid === Number(parent)) return;
  idle += 1;
  if (open === 0 || idle > 20) process.kill(process.pid, "SIGKILL"); // an ordinary end removes the sockets, also a successor's
}, 100);

