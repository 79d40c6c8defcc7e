// The local evm network: anvil of Foundry, whose state is kept in a file that this process writes.
import { Clock, Duration, Effect, Fiber, Schedule } from "effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs/promises"
import { createRequire } from "node:module"
import * as path from "node:path"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import * as Durable from "../../sql/embedded/Durable.ts"
import { makeFolder } from "../../sql/embedded/Durable.ts"
import * as LocalProcess from "./LocalProcess.ts"
import { callRpc, DevelopmentFailed, ProgramMissing } from "./LocalProcess.ts"
import type { DevelopmentNetwork, LocalChain } from "./LocalProcess.ts"

/** The usual chain id of test chains. No public chain has it. */
const chainId = 31_337

/** Where tools for Ethereum look for a local node. */
const usualPort = 8545

/** Seconds since 1970: 2026-01-01. With a time of its own, each start would make another block 0, and so another chain. */
const genesisTime = 1_767_225_600

/** Milliseconds between two blocks, while there is something to put into a block or to confirm. */
const blockTime = 1000

/** Blocks on top of a transaction that make it final. */
const confirmations = 2

/** 10 ether in wei. */
const firstBalance = 10n ** 19n

/** The second account of Foundry's test mnemonic. */
const receiver = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" }

/** The binary in the npm package of this platform. The package's own launcher would be a second process. */
export const fromNpm = (from: string): string | undefined => {
  const platform = `${process.platform}-${architectures[process.arch] ?? process.arch}`
  const binary = process.platform === "win32" ? "anvil.exe" : "anvil"
  try {
    const launcher = createRequire(from).resolve("@foundry-rs/anvil/package.json")
    return createRequire(launcher).resolve(`@foundry-rs/anvil-${platform}/bin/${binary}`)
  } catch {
    return undefined
  }
}

const versionOf = async (program: string): Promise<string> => {
  const { stdout } = await promisify(execFile)(program, ["--version"])
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? "of an unknown version"
}

/** Looks beside the module `from`, then for `inPath`: a path, or a name that is searched in PATH. */
export const findProgram = Effect.fnUntraced(function* (from: string, inPath: string) {
  for (const program of [fromNpm(from), inPath]) {
    if (program === undefined) continue
    const version = yield* Effect.option(Effect.tryPromise(() => versionOf(program)))
    if (version._tag === "Some") return { program, version: version.value }
  }
  return yield* new ProgramMissing({
    message:
      "the local evm network needs anvil, which is not installed: run npm install --save-dev @foundry-rs/anvil, or install Foundry (https://getfoundry.sh)"
  })
})

const system =
  (what: string) =>
  (cause: unknown): DevelopmentFailed =>
    new DevelopmentFailed({ message: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })

type Call = (method: string, ...params: ReadonlyArray<unknown>) => Effect.Effect<unknown, DevelopmentFailed>

const hexOf = (method: string, answer: unknown) =>
  typeof answer === "string" && /^0x[0-9a-f]*$/u.test(answer)
    ? Effect.succeed(answer)
    : Effect.fail(new DevelopmentFailed({ message: `anvil answers ${method} with something else than hex digits` }))

/** A whole file takes the place of the earlier one, so that a kill leaves one of the two. */
const save = Effect.fnUntraced(function* (call: Call, file: string) {
  const packed = yield* Effect.flatMap(call("anvil_dumpState"), (answer) => hexOf("anvil_dumpState", answer))
  yield* Effect.tryPromise({
    try: async () => {
      const state = await promisify(gunzip)(Buffer.from(packed.slice(2), "hex"))
      await Durable.replace(file, state.toString("utf8"))
    },
    catch: system(`cannot keep the chain in ${file}`)
  })
})

/**
 * Makes blocks while a transaction waits for one, and as many more as make it final. The chain rests otherwise, so that it does
 * not grow. Each block is on disk before the next one is made, so that a final transaction is never lost.
 */
const mine = (call: Call, mineBlock: Effect.Effect<void, DevelopmentFailed>) => {
  let due = 0
  return Effect.gen(function* () {
    const pool = yield* call("txpool_status")
    const { pending } = pool as { readonly pending?: string }
    if (Number(pending ?? 0) > 0) due = confirmations + 1
    if (due === 0) return
    due -= 1
    yield* mineBlock
  }).pipe(Effect.repeat(Schedule.spaced(Duration.millis(blockTime))), Effect.andThen(Effect.never))
}

const fund = (call: Call, saved: Effect.Effect<void, DevelopmentFailed>) =>
  Effect.fnUntraced(function* (address: string) {
    const balance = yield* Effect.flatMap(call("eth_getBalance", address, "latest"), (answer) =>
      hexOf("eth_getBalance", answer)
    )
    if (BigInt(balance) > 0n) return
    yield* call("anvil_setBalance", address, `0x${firstBalance.toString(16)}`)
    yield* saved
  })

/** Starts anvil, whose state is in the folder. */
export const startChain = (program: string, version: string) =>
  Effect.fnUntraced(function* (folder: string) {
    const file = path.join(folder, "state.json")
    const cache = path.join(folder, "cache")
    // It would still have the port.
    yield* LocalProcess.stopEarlier("anvil", cache)
    const exists = yield* Effect.tryPromise({
      try: async () => {
        await makeFolder(folder, 0o700)
        await fs.rm(cache, { recursive: true, force: true })
        return (await fs.stat(file).catch(() => undefined)) !== undefined
      },
      catch: system(`cannot use ${folder}`)
    })
    const startAt = (port: number) =>
      LocalProcess.start({
        name: "anvil",
        program,
        args: [
          "--no-mining",
          "--host",
          "127.0.0.1",
          "--port",
          String(port),
          "--chain-id",
          String(chainId),
          "--timestamp",
          String(genesisTime),
          "--cache-path",
          cache,
          ...(exists ? ["--load-state", file] : [])
        ],
        ready: /^Listening on 127\.0\.0\.1:(\d+)$/u
      })
    // Another program may have the usual port, so a free one follows.
    const { ended, ready } = yield* Effect.catch(startAt(usualPort), () => startAt(0))
    const url = `http://127.0.0.1:${ready[1]}`
    const call: Call = (method, ...params) => callRpc(url, method, params)
    const saved = save(call, file)
    const mineBlock = Effect.andThen(call("evm_mine"), saved)
    yield* call("evm_setTime", yield* Clock.currentTimeMillis)
    // A chain that was loaded knows balances and nonces of its last block only, and the service also reads those of the final block.
    for (let block = 0; block <= confirmations; block++) yield* mineBlock
    // It is not saved if anvil has ended before: the last block is saved already.
    yield* Effect.addFinalizer(() => Effect.ignore(saved))
    const mining = yield* Effect.forkScoped(mine(call, mineBlock))
    const chain: LocalChain = {
      description: `anvil ${version}, chain id ${chainId}, on ${url}`,
      url,
      usualPort,
      fund: fund(call, saved),
      ended: Effect.raceFirst(
        ended,
        Effect.catch(Fiber.join(mining), (failure) => LocalProcess.causeOf(failure, ended))
      )
    }
    return chain
  })

export const network: DevelopmentNetwork = {
  networkType: "evm",
  network: {
    chain_id: chainId,
    symbol: "ETH",
    average_blocktime_ms: blockTime,
    required_confirmations: confirmations,
    features: ["eip1559"],
    is_testnet: true
  },
  transaction: () => ({ to: receiver, value: "1000000000000000" }),
  effect: `0.001 ETH to ${receiver}`,
  find: Effect.map(findProgram(import.meta.url, "anvil"), ({ program, version }) => startChain(program, version))
}
