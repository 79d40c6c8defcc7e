// The local stellar network: the stand-in ledger that the tests use. It is part of a clone, and not of the package.
import { Effect } from "effect"
import type { Scope } from "effect"
import * as LocalProcess from "./LocalProcess.ts"
import { networkName, postJson } from "./LocalProcess.ts"
import type { DevelopmentFailed, DevelopmentNetwork, LocalChain } from "./LocalProcess.ts"

/** Where tools for stellar look for a local RPC server. */
const usualPort = 8000

/** Milliseconds between two ledgers: a fifth of the usual time. */
const ledgerTime = 1000

/** The passphrase that local networks of stellar-core have. */
const passphrase = "Standalone Network ; February 2017"

/** 10 XLM in stroops. */
const firstBalance = "100000000"

/** 0.001 XLM in stroops. */
const sent = "10000"

/** An address without a key. It gets an account, because a payment does not create one. */
const receiver = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"

export const findProgram = LocalProcess.inClone({
  file: "testkit/stellar/main.ts",
  missing: "the local stellar network needs a clone of the repository: its stand-in ledger is not part of the package"
})

const fund = (control: string) =>
  Effect.fnUntraced(function* (address: string) {
    for (const account of [address, receiver]) {
      yield* postJson(control, { create: { address: account, stroops: firstBalance } })
    }
  })

const startChain = (program: string) =>
  Effect.fnUntraced(function* (folder: string): Effect.fn.Return<LocalChain, DevelopmentFailed, Scope.Scope> {
    const { ended, ready } = yield* LocalProcess.startScript({
      name: "the stellar ledger",
      program,
      folder,
      usualPort,
      args: ["--ledger-ms", String(ledgerTime), "--passphrase", passphrase],
      ready: /^\{"url":"(http:[^"]+)","control":"(http:[^"]+)"\}$/u
    })
    const [, url = "", control = ""] = ready
    return {
      description: `stellar stand-in ledger of the tests, on ${url}`,
      url,
      usualPort,
      fund: fund(control),
      ended
    }
  })

export const network: DevelopmentNetwork = {
  networkType: "stellar",
  network: { average_blocktime_ms: ledgerTime, is_testnet: true, passphrase },
  transaction: () => ({
    network: networkName,
    operations: [{ type: "payment", destination: receiver, amount: sent, asset: { type: "native" } }]
  }),
  effect: `0.001 XLM to ${receiver}`,
  find: Effect.map(findProgram(LocalProcess.rootHere), startChain)
}
