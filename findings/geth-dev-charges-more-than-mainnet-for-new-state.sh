#!/usr/bin/env bash
# The developer mode of geth charges three times the gas of mainnet for a new slot, and four times for a call that makes an account.
#
# Packages   github.com/ethereum/go-ethereum/cmd/geth v1.17.10, a Go module, and @foundry-rs/anvil 1.7.1, from npm, on Linux x64. GETH names a
#            geth of this version that is built already; without it, Go 1.24 or later builds it, about 8 minutes of processor time.
# Guess      `geth --dev` has the rules of mainnet, so that gas limits and costs that were measured there hold on mainnet.
# Behaviour  Its log says that Bogota is active at block 0. A transaction that stores a word in a new slot needs 132,128 gas where anvil, with the
#            rules of mainnet, needs 43,105, and a call with value that makes an account 219,502 where anvil needs 57,616. A plain transfer
#            to the same new account needs 21,000 on both, so that tests of transfers see no difference, and a fixed gas limit that is right on
#            mainnet ends as out of gas in the developer mode.
# Instead    Estimate each call on the chain that it is for, and give tests on `geth --dev` no fixed limits. Measure costs on anvil or Hardhat
#            with the rules of the network.
# Output
#   > a plain transfer to a new account: geth 21000, anvil 21000
#   > a call with value to an account that is there: geth 35518, anvil 32616
#   > a call with value to a new account: geth 219502, anvil 57616
#   > a word in a new slot: geth 132128, anvil 43105
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >npm.log
npm install --no-audit --no-fund --ignore-scripts @foundry-rs/anvil@1.7.1 >>npm.log 2>&1 || { cat npm.log; exit 1; }
if [ -z "${GETH:-}" ]; then
  GOBIN=$folder go install github.com/ethereum/go-ethereum/cmd/geth@v1.17.10 >go.log 2>&1 || { cat go.log; exit 1; }
  GETH=$folder/geth
fi
export GETH

cat >run.mjs <<'SCRIPT'
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"

// The port is free a moment before; the node takes it.
const freePort = async () => {
  const reserved = createServer().listen(0, "127.0.0.1")
  await once(reserved, "listening")
  const { port } = reserved.address()
  reserved.close()
  await once(reserved, "close")
  return String(port)
}

const callTo = (url) => async (method, ...params) => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
  const { result, error } = await response.json()
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

const answers = async (call) => {
  for (let tries = 0; tries < 300; tries++) {
    if (await call("eth_chainId").catch(() => undefined)) return
    await sleep(100)
  }
  throw new Error("the node does not start")
}

const contract = `0x${"ee".repeat(20)}`
const other = "cd".repeat(20)
// CALL of the other account with 1 wei, and SSTORE of 1 at slot 0.
const codes = { paying: `0x5f5f5f5f600173${other}5af100`, storing: "0x60015f5500" }

const measure = async (program, args, port) => {
  const node = spawn(program, args, { stdio: "ignore" })
  try {
    const call = callTo(`http://127.0.0.1:${port}`)
    await answers(call)
    const [from] = await call("eth_accounts")
    const gas = async (request, overrides) => Number(await call("eth_estimateGas", { from, ...request }, "latest", overrides))
    const paying = { to: contract, value: "0x1" }
    return [
      await gas({ to: `0x${other}`, value: "0x1" }, {}),
      await gas(paying, { [contract]: { code: codes.paying }, [`0x${other}`]: { balance: "0x1" } }),
      await gas(paying, { [contract]: { code: codes.paying } }),
      await gas({ to: contract }, { [contract]: { code: codes.storing } })
    ]
  } finally {
    node.kill()
    await once(node, "exit")
  }
}

const [one, two] = [await freePort(), await freePort()]
const geth = await measure(process.env.GETH, ["--dev", "--ipcdisable", "--nodiscover", "--port", "0", "--http", "--http.port", one], one)
const anvil = await measure("node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil", ["--port", two, "--silent"], two)
const names = [
  "a plain transfer to a new account",
  "a call with value to an account that is there",
  "a call with value to a new account",
  "a word in a new slot"
]
names.forEach((name, index) => console.log(`${name}: geth ${geth[index]}, anvil ${anvil[index]}`))
SCRIPT

grep '^#   > ' "$script" | cut -c7- >expected
node run.mjs | tee seen
diff expected seen || { echo "FAILED: the behaviour is not what the head of $script says" >&2; exit 1; }
