// Cases in which providers or the network of stellar fail while transactions are sent: lag, lost answers, lies, a dead second provider,
// another user of the key, and a halt.
import { Effect } from "effect"
import type { Scope } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import type { Faults } from "../../testkit/stellar/Provider.ts"
import type { Case, Context } from "../Case.ts"
import * as Chain from "./Chain.ts"
import * as Opening from "./Opening.ts"
import * as Verdict from "./Verdict.ts"

type Opened = Effect.Success<ReturnType<typeof Opening.open>>

/** Sends while `trouble` runs, then checks all sent requests. `trouble` returns how many sequences another program has used. */
const during = (
  { random, tally }: Context,
  open: Parameters<typeof Opening.open>[0],
  trouble: (opened: Opened) => Effect.Effect<number | void, never, Scope.Scope>
) =>
  Effect.gen(function* () {
    const opened = yield* Opening.open(open)
    const { chain, relayers, send, service } = opened
    const before = Verdict.sequencesOf(chain, relayers)
    const { load, stop } = yield* send(random)
    const foreign = yield* trouble(opened)
    yield* stop
    yield* Verdict.check(tally, service, { chain, load, before, foreign: foreign ?? 0 })
  })

type Fault = readonly [name: string, faults: Partial<Faults>]

/** Milliseconds of each fault, and of the time without a fault after it. */
const lasts = 10_000
const works = 5000

const inTurn = Effect.fnUntraced(function* (
  { chain }: Opened,
  { tally }: Context,
  faults: ReadonlyArray<Fault>,
  providers: ReadonlyArray<number>
) {
  for (const [, fault] of faults) {
    for (const provider of providers) chain.misbehave(provider, fault)
    yield* Effect.sleep(lasts)
    chain.recover()
    yield* Effect.sleep(works)
  }
  tally.set("faults", faults.map(([name]) => name).join("; "))
})

/** Faults that both providers have at the same time. */
const failures: ReadonlyArray<Fault> = [
  ["lag", { lag: 5 }],
  ["balancer", { balancerLag: 3 }],
  ["ledger between two reads", { ingestsBetween: 1 }],
  ["429", { throttled: ["getTransaction", "getLedgerEntries", "sendTransaction"] }],
  ["answers lost before the effect", { lost: { sendTransaction: "before" } }],
  ["answers lost after the effect", { lost: { sendTransaction: "after" } }],
  ["swallowed sends", { replaced: { sendTransaction: { status: "TRY_AGAIN_LATER", hash: "0".repeat(64) } } }],
  ["huge answers", { huge: ["getLedgerEntries"] }],
  ["other passphrase", { passphrase: "another network" }]
]

export const StellarRpc: Case = {
  name: "stellar-rpc",
  promise: "providers of stellar that lag, fail and lose: each payment is confirmed, and made once",
  run: (context) =>
    during(context, {}, (opened) => inTurn(opened, context, context.amount(failures, failures.slice(4, 6)), [0, 1]))
}

/** Wrong answers of one of two providers. */
const lies: ReadonlyArray<Fault> = [
  ["higher sequence", { sequenceOffset: 3 }],
  ["lower sequence", { sequenceOffset: -3 }],
  ["ledgers of the future", { ledgerOffset: 100 }],
  ["close times of the future", { closeTimeOffset: 600 }],
  ["close times of the past", { closeTimeOffset: -600 }]
]

export const StellarLiar: Case = {
  name: "stellar-liar",
  promise: "one of two providers lies about sequences, ledgers and close times: no verdict is wrong, no payment twice",
  run: (context) =>
    during(context, {}, (opened) => inTurn(opened, context, context.amount(lies, lies.slice(0, 2)), [1]))
}

export const StellarSecond: Case = {
  name: "stellar-second",
  promise: "the second provider is dead: verdicts wait for finality_by_one, and then say that one provider gave them",
  run: (context) =>
    during(context, { network: { finality_by_one: "1m" } }, (opened) =>
      Effect.gen(function* () {
        const { chain, service } = opened
        chain.misbehave(1, { throttled: ["getTransaction", "getLedgerEntries", "sendTransaction", "getNetwork"] })
        const waiting = yield* until(
          "second_provider_missing",
          Effect.map(service.call("/api/v1/transactions?status=submitted&per_page=100"), ({ text }) =>
            text.includes('"second_provider_missing"') ? true : undefined
          ),
          "60 seconds"
        )
        context.tally.expect(waiting, "transactions in flight wait with second_provider_missing")
        yield* Effect.sleep(context.amount(90_000, 70_000))
        chain.recover()
      })
    )
}

/** Ledgers between two uses of the key by something else. */
const foreignEvery = 3

export const StellarForeign: Case = {
  name: "stellar-foreign",
  promise:
    "something else uses the key of a relayer every third ledger: each payment is made once, or collides four times",
  run: (context) =>
    during(context, { count: 2 }, ({ chain, relayers }) =>
      Effect.gen(function* () {
        let ledgers = 0
        let uses = 0
        chain.beforeLedger = () => {
          ledgers += 1
          if (ledgers % foreignEvery !== 0) return
          for (const { address } of relayers.slice(0, 1)) Chain.useSequence(chain, address)
          uses += 1
        }
        yield* Effect.sleep(context.amount(60_000, 15_000))
        chain.beforeLedger = () => {}
        return uses
      })
    )
}

export const StellarHalt: Case = {
  name: "stellar-halt",
  promise: "no ledger is closed for a while: transactions wait with ledger_stalled, and each payment is made once",
  run: (context) =>
    during(context, {}, ({ chain, service }) =>
      Effect.gen(function* () {
        yield* Effect.sleep(works)
        chain.network.isRunning = false
        yield* Effect.sleep(context.amount(120_000, 75_000))
        const { text } = yield* service.call("/api/v1/transactions?status=pending&per_page=1000")
        context.tally.expect(text.includes('"ledger_stalled"'), "transactions wait with ledger_stalled")
        chain.network.isRunning = true
        yield* Effect.sleep(works)
      })
    )
}
