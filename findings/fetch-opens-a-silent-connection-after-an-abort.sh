#!/usr/bin/env bash
# The fetch of undici, which is Node's, opens a connection without a request after a request in flight was aborted.
#
# Packages   undici 7.29.1 from npm, the version in Node 24.21.0, whose own fetch does the same.
# Guess      An abort of `fetch` ends its connection, and nothing else. A server that has no request in flight any more closes at once.
# Behaviour  The abort destroys the connection of the request. As soon as that is closed, undici opens another connection to the same
#            origin, and sends nothing on it. While it has a second connection there, it keeps the silent one for its own
#            `keepAliveTimeout`, which is 4 s, or about as long as the `Keep-Alive` of an earlier answer said. `server.close()` of
#            node:http ends idle connections, but not one that never had a request: it waits for the client. So a server that shuts
#            down, or a test that ends its server, waits seconds for a client that is silent. (Without a second connection, undici 7
#            closes the silent one at once. undici 6.24.1, the version in Node 20.20.2, keeps it in this case, too.)
# Instead    A client that gives up and is to leave nothing behind: `http.get`, and `destroy()` of the request. A server that has
#            finished its requests: `server.closeAllConnections()` after `server.close()`.
# Output
#   > two answers: 2 connections, with 1 and 1 requests
#   > server.close() after them: done within 1 s
#   > two answers, and an abort: 3 connections, with 0 and 1 and 2 requests
#   > server.close() after them: not done after 2 s
#   > get of node:http that is destroyed: 1 connections, with 1 requests
#   > server.close() after them: done within 1 s
#   > two answers, and an abort: 3 connections, with 0 and 1 and 2 requests
#   > server.close() and closeAllConnections() after them: done within 1 s
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >npm.log
npm install --no-audit --no-fund --ignore-scripts undici@7.29.1 >>npm.log 2>&1 || { cat npm.log; exit 1; }

cat >run.mjs <<'SCRIPT'
import { once } from "node:events"
import { createServer, get } from "node:http"
import { setTimeout as passed } from "node:timers/promises"
import { Agent, fetch } from "undici"

// Milliseconds. The client closes connections that rest for 4 s.
const short = 500
const patience = 2000

const serve = async () => {
  const connections = []
  const open = []
  const server = createServer((request, response) => {
    connections.find(({ socket }) => socket === request.socket).requests += 1
    if (request.url !== "/answered") return server.emit("waits")
    // Both at once, so that the client has two connections.
    open.push(response)
    if (open.length === 2) for (const one of open) one.end("x")
  })
  server.on("connection", (socket) => connections.push({ socket, requests: 0 }))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return { connections, server, url: `http://127.0.0.1:${server.address().port}` }
}

const tell = (what, connections) => {
  const counts = connections.map(({ requests }) => requests).toSorted()
  console.log(`${what}: ${counts.length} connections, with ${counts.join(" and ")} requests`)
}

const close = async (what, server, more = () => undefined) => {
  const began = Date.now()
  const closed = once(server, "close")
  server.close()
  more()
  const isLate = await Promise.race([closed.then(() => false), passed(patience, true)])
  console.log(`${what} after them: ${isLate ? "not done after 2 s" : Date.now() - began < 1000 ? "done within 1 s" : "late"}`)
  server.closeAllConnections()
  await closed
}

// Each case has a client of its own.
const answered = async (url) => {
  const dispatcher = new Agent()
  const ask = async () => (await fetch(`${url}/answered`, { dispatcher })).text()
  await Promise.all([ask(), ask()])
  await passed(short)
  return dispatcher
}

const aborted = async (url, server) => {
  const dispatcher = await answered(url)
  const closing = new AbortController()
  const waits = once(server, "waits")
  const asked = fetch(url, { signal: closing.signal, dispatcher }).catch(() => undefined)
  await waits
  closing.abort()
  await asked
  await passed(short)
}

{
  const { connections, server, url } = await serve()
  await answered(url)
  tell("two answers", connections)
  await close("server.close()", server)
}
{
  const { connections, server, url } = await serve()
  await aborted(url, server)
  tell("two answers, and an abort", connections)
  await close("server.close()", server)
}
{
  const { connections, server, url } = await serve()
  const waits = once(server, "waits")
  const asked = get(url, { agent: false }).on("error", () => undefined)
  await waits
  asked.destroy()
  await passed(short)
  tell("get of node:http that is destroyed", connections)
  await close("server.close()", server)
}
{
  const { connections, server, url } = await serve()
  await aborted(url, server)
  tell("two answers, and an abort", connections)
  await close("server.close() and closeAllConnections()", server, () => server.closeAllConnections())
}
SCRIPT

grep '^#   > ' "$script" | cut -c7- >expected
node run.mjs | tee seen
diff expected seen || { echo "FAILED: the behaviour is not what the head of $script says" >&2; exit 1; }
