// Strangers who refresh one customer's view, each again as soon as it has an answer. Runs as a
// process of its own and on bare sockets, so that it takes little of what it puts under load.
// Begins when its parent says so, and reports in the end what it was answered.

import { connect } from "node:net";

const [port, path, strangers] = process.argv.slice(2);
const answers = {};
const views = new Set();

let start;
let connected = 0;
const requests = [];
for (let i = 0; i < Number(strangers); i++) refresh(i);
process.on("message", (message) => {
  if (message === "go") {
    start = performance.now();
    // Within a second, as people come; not all in the same millisecond.
    for (const [i, request] of requests.entries())
      setTimeout(request, (i * 1_000) / requests.length);
    return;
  }
  const seconds = (performance.now() - start) / 1_000;
  process.send({ answers, views: views.size, seconds }, () => process.exit(0));
});

function refresh(i) {
  // Each has an address of its own: the budget of the customer is what stops them.
  const address = `10.0.${i >> 8}.${i & 255}`;
  const request = `GET ${path} HTTP/1.1\r\nhost: dues\r\nx-forwarded-for: ${address}\r\n\r\n`;
  const socket = connect(Number(port), "127.0.0.1", () => {
    if (start !== undefined) return socket.write(request);
    requests.push(() => socket.write(request));
    connected += 1;
    if (connected === Number(strangers)) process.send("connected");
  });
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => {
    text += chunk;
    const body = text.indexOf("\r\n\r\n") + 4;
    if (body < 4) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1]);
    if (text.length < body + length) return;
    const status = text.slice(9, 12);
    answers[status] = (answers[status] ?? 0) + 1;
    if (status === "200") views.add(/"generated_at":"([^"]+)"/.exec(text)?.[1]);
    const ends = /\r\nconnection: close/i.test(text.slice(0, body));
    text = "";
    if (!ends) socket.write(request);
  });
  // Whoever is sent away comes back.
  socket.on("error", () => {});
  socket.on("close", () => refresh(i));
}
