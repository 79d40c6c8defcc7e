// Cases in which providers or the network of stellar fail while transactions are sent: lag, lost answers, lies, a dead second provider,
// high fees, another user of the key, and a halt.
import { Effect } from "effect"
import type { Scope } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import type { Faults } from "../../testkit/stellar/Provider.ts"
import { envelope, keyNamed, payment } from "../../testkit/stellar/Building.ts"
import type { Case, Context } from "../Case.ts"
import { openIn } from "../sending/Verdict.ts"
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

/** How the second provider gives no opinion. The number of the newest ledger is added when it begins to stand still. */
const silences = [
  {
    silence: "dead",
    faults: () => ({
      throttled: ["getTransaction", "getTransactions", "getLedgerEntries", "getLatestLedger", "sendTransaction"]
    })
  },
  { silence: "still", faults: ({ network }: Chain.Chain) => ({ standsAt: network.latest.number }) }
] as const

/** In turn: it comes back after the other one has decided, and before. */
const comesBack = silences.flatMap((one) => [
  { ...one, comesBack: "after", confirmedBy: 1 },
  { ...one, comesBack: "before", confirmedBy: undefined }
])

/** A provider is stalled after half a minute, and the other one decides alone a minute later. The machine may be busy. */
const silencePatience = "5 minutes"

/**
 * Milliseconds between two requests of one sender: while the second provider is missing, an account has one transaction a minute, and
 * what waits behind it has to be final within the patience of the verdict.
 */
const rarely = 6 * Opening.pause

/** The ids of payments that wait for the second provider, if `explain` of the first one says until when. */
const waitingIn = (service: Opened["service"]) =>
  Effect.gen(function* () {
    const found = ((yield* openIn(service)) ?? []).filter(({ code }) => code === "second_provider_missing")
    const [first] = found
    if (first === undefined) return undefined
    const path = `/api/v1/relayers/${first.relayer_id}/transactions/${first.id}/explain`
    const { text } = yield* service.call(path)
    return text.includes('"decides_at"') ? found.map(({ id }) => id) : undefined
  })

/** Waits until none of them is open. */
const decided = (service: Opened["service"], ids: ReadonlyArray<string>) =>
  until(
    "a decision of the one provider that is left",
    Effect.map(openIn(service), (rows) =>
      rows === undefined || rows.some(({ id }) => ids.includes(id)) ? undefined : true
    ),
    silencePatience
  )

export const StellarSecond: Case = {
  name: "stellar-second",
  promise:
    "the second provider is dead or stands still: verdicts wait for finality_by_one and say that one provider gave them, or for both if it comes back before",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const { chain, relayers, send, service } = yield* Opening.open({ network: { finality_by_one: "1m" } })
      const before = Verdict.sequencesOf(chain, relayers)
      const phases = amount(comesBack, [...comesBack.slice(0, 1), ...comesBack.slice(3)])
      const { load, stop } = yield* send(random, rarely)
      const waited: Array<ReadonlyArray<string>> = []
      for (const { comesBack, faults } of phases) {
        chain.misbehave(1, faults(chain))
        const ids = yield* until("second_provider_missing with decides_at", waitingIn(service), silencePatience)
        waited.push(ids)
        if (comesBack === "after") yield* decided(service, ids)
        chain.recover()
        yield* Effect.sleep(works)
      }
      yield* stop
      const rows = yield* Verdict.check(tally, service, { chain, load, before })
      for (const [index, { comesBack, confirmedBy, silence }] of phases.entries()) {
        const found = rows.filter(({ id }) => waited[index]?.includes(id))
        const other = found.find(({ confirmed_by }) => confirmed_by !== confirmedBy)
        tally.set(`waited (${silence}, back ${comesBack})`, found.length)
        tally.expect(found.length > 0, `payments wait while the second provider is ${silence}`)
        tally.expect(
          other === undefined,
          `what waited is confirmed by ${confirmedBy ?? "both"} (${silence}, back ${comesBack} the decision): ${JSON.stringify(other)}`
        )
      }
    })
}

/** Stroops that an envelope of the surge case may cost. */
const surgeCap = 10_000

/** Stroops per operation that other users bid in the surge: fifty times the cap. */
const surgeRate = BigInt(surgeCap) * 50n

/** Stroops of each of the others: 10,000 XLM. */
const surgeFunds = 100_000_000_000n

/** Transactions of others in each ledger of the surge, which fill it. */
const others = 8

/** Fills each ledger with transactions that pay more than the cap, until the result is called. */
const surge = ({ chain }: Opened) => {
  const { network } = chain
  const users = Array.from({ length: others }, (_, index) => keyNamed(`user ${index} of the surge`))
  for (const user of users) network.grant(user.publicKey(), surgeFunds)
  const room = network.ledgerOperations
  network.ledgerOperations = BigInt(others)
  chain.beforeLedger = () => {
    for (const user of users) {
      const sequence = Chain.sequenceOf(chain, user.publicKey()) + 1n
      const given = { sequence, fee: surgeRate, network: network.passphrase }
      network.submit(0, envelope(user, [payment(user, 1n)], given))
    }
  }
  return () => {
    chain.beforeLedger = () => {}
    network.ledgerOperations = room
  }
}

export const StellarSurge: Case = {
  name: "stellar-surge",
  promise:
    "others pay 50 times the cap of the relayers, and later do not: payments offer the cap and wait in the queue, and no envelope costs more than the cap",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const opened = yield* Opening.open({ policies: { max_fee: surgeCap } })
      const { chain, relayers, send, service } = opened
      const before = Verdict.sequencesOf(chain, relayers)
      const { load, stop } = yield* send(random)
      for (let surges = 0; surges < amount(3, 1); surges++) {
        yield* Effect.sleep(works)
        const end = surge(opened)
        const held = yield* until(
          "an envelope that offers the cap",
          Effect.map(openIn(service), (rows) => {
            const found = (rows ?? []).filter(
              ({ attempts = [] }) => attempts.at(-1)?.max_fee === String(surgeCap)
            ).length
            return found === 0 ? undefined : found
          }),
          "2 minutes"
        )
        tally.add("offered the cap when the first did", held)
        yield* Effect.sleep(lasts)
        end()
      }
      yield* Effect.sleep(works)
      yield* stop
      const rows = yield* Verdict.check(tally, service, { chain, load, before })
      const fees = rows.flatMap(({ attempts = [] }) => attempts.map(({ max_fee = "0" }) => Number(max_fee)))
      tally.set("highest fee of an envelope", Math.max(...fees))
      tally.expect(
        fees.length > 0 && Math.max(...fees) <= surgeCap,
        `no envelope may cost more than ${surgeCap} stroops`
      )
      const paid = Chain.highestFeeOf(
        chain,
        relayers.map(({ address }) => address)
      )
      tally.expect(paid <= BigInt(surgeCap), `no envelope in a ledger offers more than ${surgeCap} stroops: ${paid}`)
    })
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
          for (const { address } of relayers.slice(0, 1)) chain.network.useSequence(address)
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
