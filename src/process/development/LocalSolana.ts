// The local solana network: the cluster that the tests use. It is part of a clone, and not of the package.
import { Effect, Schedule } from "effect"
import type { Scope } from "effect"
import * as LocalProcess from "./LocalProcess.ts"
import { callRpc } from "./LocalProcess.ts"
import type { DevelopmentFailed, DevelopmentNetwork, LocalChain } from "./LocalProcess.ts"

/** Where tools for solana look for a local node. */
const usualPort = 8899

/** Milliseconds between two blocks: half of the usual time, so that a transaction is final after seven seconds. */
const blockTime = 200

/** Milliseconds for which the first balance is waited for. */
const fundingPatience = 10_000

/** 10 SOL in lamports. */
const firstBalance = 10_000_000_000

/** 0.001 SOL in lamports, which is more than an account needs to exist. */
const sent = 1_000_000n

/** An address without a key. */
const receiver = "US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx"

const systemProgram = "11111111111111111111111111111111"

/** Data of the instruction Transfer of the System program: its number, and the lamports, little-endian. */
const transferData = Buffer.from([2, 0, 0, 0, ...new Uint8Array(BigUint64Array.of(sent).buffer)]).toString("base64")

export const findProgram = LocalProcess.inClone({
  file: "testkit/solana/main.ts",
  missing: "the local solana network needs a clone of the repository: its cluster is not part of the package"
})

const fund = (url: string) =>
  Effect.fnUntraced(function* (address: string) {
    const balance = Effect.map(
      callRpc(url, "getBalance", [address, { commitment: "processed" }]),
      (answer) => (answer as { readonly value: number }).value
    )
    if ((yield* balance) > 0) return
    yield* callRpc(url, "requestAirdrop", [address, firstBalance])
    // It is a transaction, which the next blocks execute.
    yield* Effect.repeat(balance, { until: (found) => found > 0, schedule: Schedule.spaced(blockTime) }).pipe(
      Effect.timeoutOption(fundingPatience)
    )
  })

const banks: Readonly<Record<string, string>> = {
  agave: "Agave's virtual machine",
  transfers: "transfers and memos only; npm run test:svm installs Agave's virtual machine"
}

const startChain = (program: string) =>
  Effect.fnUntraced(function* (folder: string): Effect.fn.Return<LocalChain, DevelopmentFailed, Scope.Scope> {
    const { ended, ready } = yield* LocalProcess.startScript({
      name: "the solana cluster",
      program,
      folder,
      usualPort,
      args: ["--block-ms", String(blockTime)],
      ready: /^\{"url":"(http:[^"]+)","bank":"(\w+)"\}$/u
    })
    const [, url = "", bank = ""] = ready
    return {
      description: `solana cluster of the tests (${banks[bank]}), on ${url}`,
      url,
      usualPort,
      fund: fund(url),
      ended
    }
  })

export const network: DevelopmentNetwork = {
  networkType: "solana",
  network: { average_blocktime_ms: blockTime, is_testnet: true },
  // The default strategy signs nothing without tokens that users pay with.
  policies: { fee_payment_strategy: "relayer" },
  transaction: (relayer) => ({
    instructions: [
      {
        program_id: systemProgram,
        accounts: [
          { pubkey: relayer, is_signer: true, is_writable: true },
          { pubkey: receiver, is_signer: false, is_writable: true }
        ],
        data: transferData
      }
    ]
  }),
  effect: `0.001 SOL to ${receiver}`,
  find: Effect.map(findProgram(LocalProcess.rootHere), startChain)
}
