#!/usr/bin/env bash
# viem reports "this node has your transaction already" as NonceTooLowError; its `fallback` transport makes that out of one lost answer.
#
# Packages   viem 2.57.20 and @foundry-rs/anvil 1.7.1, from npm, on Linux x64.
# Guess      NonceTooLowError means that another transaction used the nonce, so that this one can never be mined. A second URL of
#            `fallback` makes a send safer.
# Behaviour  `sendTransaction` of viem turns the words "transaction already imported" of anvil (and, by its source, "already known" of
#            geth) into NonceTooLowError, "lower than the current nonce", although the node has these very bytes in its pool.
#            `fallback` sends them to the next URL if the answer of the first is lost. That node has them by then, so the send rejects
#            with NonceTooLowError, and the transfer is mined all the same. A program that takes the next nonce, as the name suggests,
#            pays twice. With a single URL the lost answer itself is reported.
# Instead    Sign first, keep the hash (`keccak256` of the bytes), and send with `sendRawTransaction`. After any error ask for that hash,
#            and send the same bytes again. Take another nonce only after the receipt of another transaction with the old one.
# Output
#   > one URL, whose answer is lost: HttpRequestError, 1 in the pool
#   > two URLs, the answer of the first is lost: NonceTooLowError, 2 in the pool, 0 mined
#   > after a block: 2 mined, receivers got 2 wei
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >npm.log
npm install --no-audit --no-fund --ignore-scripts viem@2.57.20 @foundry-rs/anvil@1.7.1 >>npm.log 2>&1 || { cat npm.log; exit 1; }

cat >run.mjs <<'SCRIPT'
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import { createTestClient, createWalletClient, fallback, http, publicActions } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { foundry } from "viem/chains"

// The port is free a moment before; anvil takes it.
const reserved = createServer().listen(0, "127.0.0.1")
await once(reserved, "listening")
const { port } = reserved.address()
reserved.close()
await once(reserved, "close")

const anvil = spawn("node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil", ["--port", String(port), "--no-mining", "--silent"])
const node = `http://127.0.0.1:${port}`

// What a load balancer does now and then: it passes the send, and closes the connection before the answer.
const losing = createServer(async (request, response) => {
  let body = ""
  for await (const chunk of request) body += chunk
  const answer = await fetch(node, { method: "POST", headers: { "content-type": "application/json" }, body })
  if (body.includes("eth_sendRawTransaction")) return request.socket.destroy()
  response.setHeader("content-type", "application/json")
  response.end(await answer.text())
}).listen(0, "127.0.0.1")
await once(losing, "listening")
const balancer = `http://127.0.0.1:${losing.address().port}`

try {
  const client = createTestClient({ mode: "anvil", chain: foundry, transport: http(node, { retryCount: 100, retryDelay: 20 }) }).extend(publicActions)
  await client.getChainId()
  // The first account of every anvil.
  const account = privateKeyToAccount("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
  const to = "0x00000000000000000000000000000000deadbeef"
  const send = (transport) =>
    createWalletClient({ account, chain: foundry, transport })
      .sendTransaction({ to, value: 1n })
      .then(() => "no error", ({ cause }) => cause.name)
  const pooled = async () => (await client.getTxpoolStatus()).pending
  const mined = () => client.getTransactionCount({ address: account.address, blockTag: "latest" })

  const single = await send(http(balancer))
  console.log(`one URL, whose answer is lost: ${single}, ${await pooled()} in the pool`)
  const double = await send(fallback([http(balancer), http(node)]))
  console.log(`two URLs, the answer of the first is lost: ${double}, ${await pooled()} in the pool, ${await mined()} mined`)
  await client.mine({ blocks: 1 })
  console.log(`after a block: ${await mined()} mined, receivers got ${await client.getBalance({ address: to })} wei`)
} finally {
  losing.close()
  losing.closeAllConnections()
  anvil.kill()
}
SCRIPT

grep '^#   > ' "$script" | cut -c7- >expected
node run.mjs | tee seen
diff expected seen || { echo "FAILED: the behaviour is not what the head of $script says" >&2; exit 1; }
