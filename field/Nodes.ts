// The nodes that the service is tried on: where each comes from, how it starts on loopback, and how an account gets funds on it.
import { Effect, Exit, Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createWriteStream } from "node:fs"
import * as fs from "node:fs/promises"
import { createRequire } from "node:module"
import * as path from "node:path"
import * as JsonRpc from "../testkit/JsonRpc.ts"
import { freePort } from "../testkit/process/Ports.ts"
import { folder, until } from "../testkit/process/Folder.ts"
import * as Packages from "./Packages.ts"

/** How long a node may take to answer after its start. Avalanche bootstraps itself first. */
const startPatience = "3 minutes"

export interface Started {
  readonly url: string
  readonly call: ReturnType<typeof JsonRpc.call>
  /** Ends the node as an operator does and starts it again on the same data. Absent: it keeps its chain in memory. */
  readonly restart?: Effect.Effect<void>
}

interface Described {
  readonly name: string
  /** The package and its version, as in `docs/tested-on.md`. */
  readonly version: string
  /** What is special about how it runs. */
  readonly mode: string
  /** Starts it. `binary`: a program that exists, instead of the package. */
  readonly start: (binary: string | undefined) => Effect.Effect<Started, never, Scope.Scope>
  /** Cases that end in another way on this node, and why that is right. */
  readonly expects?: Readonly<Record<string, string>>
}

export interface EvmNode extends Described {
  readonly type: "evm"
  readonly chainId: number
  /** Fields of the network that differ from a chain of two seconds and one confirmation. */
  readonly network?: object
  /** The private key of an account with funds. Absent: the node signs for such an account. */
  readonly treasury?: string
  /** Whether its chain takes authorizations (EIP-7702). */
  readonly hasDelegations?: true
  /** Its chain makes no block without a transaction. */
  readonly isQuiet?: true
  /** Makes the block with this height the newest one. Absent: the node replaces no blocks. */
  readonly rewind?: (call: Started["call"], height: number) => Effect.Effect<void>
  /** A token that the node's account has, and that pays fees, on a chain that forbids values. `gas`: of a transfer. */
  readonly token?: { readonly address: string; readonly gas: number }
}

interface SolanaNode extends Described {
  readonly type: "solana"
}

export type FieldNode = EvmNode | SolanaNode

interface Program {
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** Of its log, and its working directory unless it has another one. */
  readonly folder: string
  readonly directory?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Milliseconds that a node has for its end after SIGTERM. Then it gets SIGKILL. */
const endPatience = 30_000

/** A process that ends with the scope. Its output is closed when the node has ended, not only a script that started it. */
const running = ({ args, command, directory, env, folder }: Program) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(command, args, {
        cwd: directory ?? folder,
        env: { PATH: process.env.PATH ?? "", HOME: folder, ...env },
        stdio: ["ignore", "pipe", "pipe"]
      })
      const log = createWriteStream(path.join(folder, "node.log"), { flags: "a" })
      for (const output of [child.stdout, child.stderr]) output.pipe(log, { end: false })
      return { child, ended: once(child, "close") }
    }),
    ({ child, ended }) =>
      Effect.promise(async () => {
        child.kill("SIGTERM")
        const impatient = setTimeout(() => child.kill("SIGKILL"), endPatience)
        await ended
        clearTimeout(impatient)
      })
  )

/** Waits until the node answers a call. */
const answers = (url: string, method: string, folder: string) =>
  until(
    `an answer of the node at ${url}`,
    Effect.promise(async () => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [] })
      const headers = { "content-type": "application/json" }
      const response = await fetch(url, { method: "POST", headers, body }).catch(() => undefined)
      return response?.ok === true && "result" in (await response.json()) ? true : undefined
    }),
    startPatience
  ).pipe(
    Effect.catchDefect((defect) =>
      Effect.flatMap(
        Effect.promise(() => fs.readFile(path.join(folder, "node.log"), "utf8")),
        (log) => Effect.die(new Error(`${String(defect)}\n${log.slice(-4000)}`))
      )
    )
  )

interface Serving {
  readonly program: (port: number, folder: string) => Omit<Program, "folder">
  readonly path?: string
  /** A call that the node answers once it is ready. */
  readonly ready?: string
  readonly keepsChain: boolean
}

const serve = Effect.fnUntraced(function* ({
  keepsChain,
  path: pathname = "",
  program,
  ready = "eth_chainId"
}: Serving) {
  const home = yield* folder
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}${pathname}`
  const open = Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* running({ ...program(port, home), folder: home }).pipe(Scope.provide(scope))
    return scope
  })
  let scope = yield* open
  yield* Effect.addFinalizer(() => Effect.suspend(() => Scope.close(scope, Exit.void)))
  yield* answers(url, ready, home)
  const restart = Effect.gen(function* () {
    yield* Scope.close(scope, Exit.void)
    scope = yield* open
    yield* answers(url, ready, home)
  })
  const started: Started = { url, call: JsonRpc.call(url), ...(keepsChain ? { restart } : {}) }
  return started
})

const geth = (
  name: string,
  version: string,
  { args, mode }: { readonly args: ReadonlyArray<string>; readonly mode: string } = { args: [], mode: "" }
): EvmNode => ({
  type: "evm",
  name,
  version: `go-ethereum ${version}`,
  mode: `developer mode, a block each two seconds${mode}`,
  chainId: 1337,
  hasDelegations: true,
  rewind: (call, height) => Effect.asVoid(call("debug_setHead", [`0x${height.toString(16)}`])),
  start: Effect.fnUntraced(function* (given) {
    const binary =
      given ??
      (yield* Packages.go("github.com/ethereum/go-ethereum/cmd/geth", `v${version}`, { binary: "geth", minutes: 8 }))
    return yield* serve({
      keepsChain: true,
      program: (port, folder) => ({
        command: binary,
        args: [
          "--dev",
          "--dev.period=2",
          `--datadir=${path.join(folder, "geth")}`,
          "--ipcdisable",
          "--nodiscover",
          "--http",
          "--http.addr=127.0.0.1",
          `--http.port=${port}`,
          "--http.api=eth,net,web3,txpool,debug",
          "--port=0",
          ...args
        ]
      })
    })
  })
})

/** The first account of the developers' mnemonic, which Hardhat, Ganache and anvil fund. */
const mnemonic = "test test test test test test test test test test test junk"

/** The developers' network of Hardhat needs no files but these. */
const hardhatConfig = `export default { networks: {
  interval: { type: "edr-simulated", chainType: "l1", chainId: 31337, mining: { auto: false, interval: 2000 } },
  automine: { type: "edr-simulated", chainType: "l1", chainId: 31337 },
  op: { type: "edr-simulated", chainType: "op", chainId: 31337, mining: { auto: false, interval: 2000 } }
} }
`

const hardhat = (
  network: string,
  described: Pick<EvmNode, "name" | "mode" | "network" | "expects" | "hasDelegations" | "isQuiet">
): EvmNode => ({
  type: "evm",
  version: "Hardhat 3.18.0 (EDR 0.22.0)",
  chainId: 31337,
  ...described,
  start: Effect.fnUntraced(function* (given) {
    const script =
      given ??
      (yield* Packages.npm(
        [
          "hardhat@3.18.0",
          `@nomicfoundation/edr-${process.platform}-${process.arch}${process.platform === "linux" ? "-gnu" : ""}@0.22.0`
        ],
        "hardhat/dist/src/cli.js"
      ))
    // Hardhat runs only where it is installed, and reads its configuration there.
    const directory = script.slice(0, script.lastIndexOf(`${path.sep}node_modules${path.sep}`))
    yield* Effect.promise(() => fs.writeFile(path.join(directory, "hardhat.config.js"), hardhatConfig))
    return yield* serve({
      keepsChain: false,
      program: (port) => ({
        command: process.execPath,
        directory,
        args: [script, "node", "--network", network, "--hostname", "127.0.0.1", "--port", String(port)],
        env: { HARDHAT_DISABLE_TELEMETRY_PROMPT: "true" }
      })
    })
  })
})

const anvil = (
  args: ReadonlyArray<string>,
  described: Pick<EvmNode, "name" | "mode" | "network" | "expects" | "token" | "hasDelegations" | "rewind">
): EvmNode => ({
  type: "evm",
  version: "anvil 1.7.1",
  chainId: 31337,
  ...described,
  start: (given) =>
    serve({
      keepsChain: true,
      program: (port, folder) => ({
        command: given ?? process.execPath,
        args: [
          ...(given === undefined ? [createRequire(import.meta.url).resolve("@foundry-rs/anvil/bin.mjs")] : []),
          "--host",
          "127.0.0.1",
          "--port",
          String(port),
          "--block-time",
          "2",
          "--chain-id",
          "31337",
          "--state",
          path.join(folder, "state.json"),
          ...args
        ]
      })
    })
})

const ganache: EvmNode = {
  type: "evm",
  name: "ganache",
  version: "Ganache 7.9.2",
  mode: "a block each two seconds",
  chainId: 1337,
  start: Effect.fnUntraced(function* (given) {
    const script = given ?? (yield* Packages.npm(["ganache@7.9.2"], "ganache/dist/node/cli.js"))
    return yield* serve({
      keepsChain: true,
      program: (port, folder) => ({
        command: process.execPath,
        args: [
          script,
          "--server.host",
          "127.0.0.1",
          "--server.port",
          String(port),
          "--miner.blockTime",
          "2",
          "--chain.chainId",
          "1337",
          "--chain.networkId",
          "1337",
          "--wallet.mnemonic",
          mnemonic,
          "--database.dbPath",
          path.join(folder, "chain")
        ]
      })
    })
  })
}

/** One validator of the local network, which makes no block without a transaction, and whose blocks are final when they are shown. */
const avalanche: EvmNode = {
  type: "evm",
  name: "avalanche",
  version: "avalanchego 1.14.0",
  mode: "C-Chain of the local network, one node",
  chainId: 43112,
  isQuiet: true,
  network: { required_confirmations: 0, average_blocktime_ms: 2000, symbol: "AVAX" },
  // The documented key of the local network, which exists for tests only.
  treasury: "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027",
  start: Effect.fnUntraced(function* (given) {
    const binary =
      given ??
      (yield* Packages.go("github.com/ava-labs/avalanchego/main", "v1.14.0", { binary: "avalanchego", minutes: 20 }))
    return yield* serve({
      keepsChain: true,
      path: "/ext/bc/C/rpc",
      program: (port, folder) => ({
        command: binary,
        args: [
          "--network-id=local",
          "--sybil-protection-enabled=false",
          "--snow-sample-size=1",
          "--snow-quorum-size=1",
          "--fd-limit=8192",
          "--http-host=127.0.0.1",
          `--http-port=${port}`,
          "--staking-host=127.0.0.1",
          "--staking-port=0",
          "--staking-ephemeral-cert-enabled",
          "--staking-ephemeral-signer-enabled",
          `--data-dir=${path.join(folder, "avalanche")}`
        ]
      })
    })
  })
}

const agave: SolanaNode = {
  type: "solana",
  name: "agave",
  version: "Agave 4.1.2",
  mode: "solana-test-validator, one validator",
  start: Effect.fnUntraced(function* (given) {
    const binary =
      given ?? (yield* Packages.cargo("agave-validator", "4.1.2", { binary: "solana-test-validator", minutes: 120 }))
    const faucet = yield* freePort
    // Its default, 8000, may be that of another program.
    const gossip = yield* freePort
    return yield* serve({
      keepsChain: true,
      ready: "getHealth",
      program: (port, folder) => ({
        command: binary,
        args: [
          "--rpc-port",
          String(port),
          "--bind-address",
          "127.0.0.1",
          "--faucet-port",
          String(faucet),
          "--gossip-port",
          String(gossip),
          "--ledger",
          path.join(folder, "ledger"),
          "--limit-ledger-size",
          "200000",
          "--quiet"
        ]
      })
    })
  })
}

/** A node that runs already. */
export const at = (url: string): Started => ({ url, call: JsonRpc.call(url) })

export const nodes: ReadonlyArray<FieldNode> = [
  anvil([], {
    name: "anvil",
    mode: "a block each two seconds",
    hasDelegations: true,
    // Blocks without transactions take the place of the newest ones.
    rewind: Effect.fnUntraced(function* (call, height) {
      const newest = Number(yield* call("eth_blockNumber", []))
      yield* call("anvil_reorg", [newest - height, []])
    })
  }),
  anvil(["--optimism"], { name: "anvil-optimism", mode: "as a chain of the OP stack" }),
  anvil(["--celo"], { name: "anvil-celo", mode: "as a chain of Celo" }),
  anvil(["--network", "tempo"], {
    name: "anvil-tempo",
    mode: "as a Tempo chain: no values, fees in a token",
    // It pays the fees of an account that has chosen none, and of calls to itself. Anvil gives it to its own accounts.
    token: { address: "0x20c0000000000000000000000000000000000000", gas: 400_000 }
  }),
  geth("geth-1.16", "1.16.9"),
  geth("geth-1.17", "1.17.10"),
  geth("geth-small-pool", "1.17.10", {
    args: ["accountslots", "globalslots", "accountqueue", "globalqueue"].map((limit) => `--txpool.${limit}=4`),
    mode: ", a pool of four and four places"
  }),
  hardhat("interval", { name: "hardhat", mode: "a block each two seconds", hasDelegations: true }),
  hardhat("automine", {
    name: "hardhat-automine",
    mode: "a block for each transaction",
    hasDelegations: true,
    isQuiet: true,
    network: { required_confirmations: 0 }
  }),
  hardhat("op", { name: "hardhat-op", mode: "as a chain of the OP stack, a block each two seconds" }),
  ganache,
  avalanche,
  agave
]
