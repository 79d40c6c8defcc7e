// Cases in which the network or a provider of solana fails while transactions are sent: bytes that are lost or late, forks, lies,
// providers without history, and a silent one.
import { Effect } from "effect"
import type { Scope } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import type { Node } from "../../testkit/solana/Node.ts"
import type { Case, Context } from "../Case.ts"
import { shown } from "../sending/Verdict.ts"
import * as Chain from "./Chain.ts"
import * as Opening from "./Opening.ts"
import * as Verdict from "./Verdict.ts"

type Opened = Effect.Success<ReturnType<typeof Opening.open>>

interface Trouble extends Pick<Context, "tally" | "amount" | "random"> {
  readonly opened: Opened
  /** Waits while transactions are sent: `full` milliseconds, or `short` with `--short`. */
  readonly pass: (full: number, short: number) => Effect.Effect<void>
}

/** Milliseconds in which bytes die and are proven dead. */
const oneLife = 40_000

/** Sends while `trouble` lasts, and checks all of it afterwards. `expectMore`: what else must hold. */
const during = (
  { amount, random, tally }: Context,
  open: Parameters<typeof Opening.open>[0],
  trouble: (given: Trouble) => Effect.Effect<void, never, Scope.Scope>,
  expectMore: (rows: Verdict.Rows) => void = () => {}
) =>
  Effect.gen(function* () {
    const opened = yield* Opening.open(open)
    const { load, stop } = yield* opened.send(random)
    const pass = (full: number, short: number) => Effect.sleep(amount(full, short))
    yield* trouble({ amount, opened, pass, random, tally })
    yield* stop
    expectMore(yield* Verdict.check(tally, opened.chain, opened.service, load))
  })

export const SolanaExpiry: Case = {
  name: "solana-expiry",
  promise:
    "30 % of the bytes get lost: each request is executed once, by new bytes after a proof that the old ones are dead",
  run: (context) =>
    during(
      context,
      {},
      ({ opened: { chain }, pass }) =>
        Effect.gen(function* () {
          chain.cluster.keepsBack = (signature) => Chain.isAmong(30, signature)
          yield* pass(90_000, 10_000)
        }),
      (rows) => context.tally.expect(Verdict.refreshesOf(rows) > 0, "bytes that get lost are signed again")
    )
}

export const SolanaLate: Case = {
  name: "solana-late",
  promise: "bytes that the network releases in the last block in which they can land: each request is executed once",
  run: (context) =>
    during(context, {}, ({ opened: { chain }, pass, tally }) =>
      Effect.gen(function* () {
        const counts = Chain.holdBack(chain, 50)
        yield* pass(90_000, 10_000)
        yield* pass(oneLife, oneLife)
        tally.set("held back", counts.held)
        tally.set("released in the last block", counts.released)
        tally.expect(counts.released > 0, "bytes are released in the last block")
      })
    )
}

export const SolanaFork: Case = {
  name: "solana-fork",
  promise: "blocks are dropped again and again, and a provider stays on a dead fork: each request is executed once",
  run: (context) =>
    during(context, {}, ({ amount, opened: { chain }, random, tally }) =>
      Effect.gen(function* () {
        for (let count = 0; count < amount(30, 4); count++) {
          yield* Effect.sleep(random.int(1000, 4000))
          const node = random.pick([chain.nodes[0], ...chain.nodes.slice(1)])
          if (count % 3 === 0 && node !== undefined) {
            node.fork = chain.cluster.blocks
            tally.add("dead forks")
          }
          yield* Chain.fork(chain, random.int(1, 20))
          tally.add("forks")
          yield* Effect.sleep(random.int(500, 2500))
          if (node !== undefined) node.fork = undefined
        }
      })
    )
}

/** Wrong answers of a node: a name, and the function that makes the node give them. */
const lies: ReadonlyArray<readonly [string, (chain: Chain.Chain, node: Node) => void]> = [
  [
    "no status",
    (_, { lies }) =>
      void lies.set("getSignatureStatuses", ([signatures]) => ({
        result: { context: { slot: 10 ** 9 }, value: Array.isArray(signatures) ? signatures.map(() => null) : [] }
      }))
  ],
  [
    "invented statuses",
    (chain, { lies }) =>
      void lies.set("getSignatureStatuses", ([signatures]) => ({
        result: {
          context: { slot: 10 ** 9 },
          value: Array.isArray(signatures)
            ? signatures.map(() => ({
                slot: chain.cluster.blocks.length,
                confirmations: null,
                err: { InstructionError: [0, "Custom"] },
                confirmationStatus: "finalized"
              }))
            : []
        }
      }))
  ],
  [
    "a height that is too high",
    ({ cluster }, { lies }) =>
      void lies.set("getEpochInfo", () => {
        const { height = 0, slot = 0 } = cluster.blocks.at(-33) ?? {}
        return { result: { absoluteSlot: slot, blockHeight: height + 200 } }
      })
  ],
  [
    "a lastValidBlockHeight that is too low",
    ({ cluster }, { lies }) =>
      void lies.set("getLatestBlockhash", () => {
        const { blockhash = "", height = 0, slot = 0 } = cluster.blocks.at(-2) ?? {}
        return { result: { context: { slot }, value: { blockhash, lastValidBlockHeight: height + 105 } } }
      })
  ]
]

export const SolanaLie: Case = {
  name: "solana-lie",
  promise:
    "one of two providers lies about statuses and heights: it decides nothing alone, each request is executed once",
  run: (context) =>
    during(context, {}, ({ amount, opened: { chain }, tally }) =>
      Effect.gen(function* () {
        chain.cluster.keepsBack = (signature) => Chain.isAmong(20, signature)
        for (const [name, lie] of lies) {
          for (const node of chain.nodes.slice(1)) lie(chain, node)
          yield* Effect.sleep(amount(30_000, 6000))
          for (const node of chain.nodes) node.lies.clear()
          yield* Effect.sleep(amount(5000, 1000))
          tally.add("lies")
          tally.set("last lie", name)
        }
        chain.cluster.keepsBack = undefined
      })
    )
}

/** Settings of a node with which it cannot prove that bytes did not land. */
const gaps: ReadonlyArray<(node: Node) => Partial<Node>> = [
  () => ({ hasHistory: false }),
  () => ({ firstAvailable: 10 ** 6 }),
  () => ({ indexLag: 10 ** 6 })
]

/** How many transactions say that no proof shows what became of their bytes. */
const unprovenIn = ({ relayers, service }: Opened) =>
  Effect.map(
    Effect.forEach(relayers, ({ id }) =>
      service.call(`/api/v1/relayers/${id}/transactions?code=landing_unproven&per_page=100`)
    ),
    (answers) =>
      answers.reduce(
        (sum, { text }) => sum + (JSON.parse(text) as { readonly data: ReadonlyArray<object> }).data.length,
        0
      )
  )

const whole = { hasHistory: true, firstAvailable: 0, indexLag: 0 }

export const SolanaHistory: Case = {
  name: "solana-history",
  promise:
    "providers without history, pruned, or with an index that lags: no new bytes without a proof, each request once",
  run: (context) =>
    during(context, {}, ({ amount, opened, tally }) =>
      Effect.gen(function* () {
        const { chain } = opened
        chain.cluster.keepsBack = (signature) => Chain.isAmong(30, signature)
        for (const gap of amount(gaps, gaps.slice(0, 1))) {
          for (const node of chain.nodes.slice(1)) Object.assign(node, gap(node))
          const waiting = yield* until(
            "transactions whose bytes are not proven dead",
            Effect.map(unprovenIn(opened), (count) => (count > 0 ? count : undefined)),
            "5 minutes"
          )
          tally.add("waiting for a proof when the first did", waiting)
          yield* Effect.sleep(amount(oneLife, 5000))
          for (const node of chain.nodes) Object.assign(node, whole)
          yield* Effect.sleep(amount(10_000, 2000))
        }
        chain.cluster.keepsBack = undefined
      })
    )
}

export const SolanaSilent: Case = {
  name: "solana-silent",
  promise: "the second provider is silent for longer than finality_by_one: the one that is left decides, and says so",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const { chain, send, service } = yield* Opening.open({ network: { finality_by_one: "1m" } })
      const [, second] = chain.nodes
      if (second === undefined) return yield* Effect.die(new Error("there is no second provider"))
      second.trouble = "silent"
      const { load, stop } = yield* send(random)
      yield* Effect.sleep(amount(20_000, 3000))
      yield* stop
      const isByOne = (row: object) => "confirmed_by" in row && row.confirmed_by === 1
      const rowsOf = Effect.forEach(load.accepted, (one) => shown(service, one), { concurrency: 4 })
      const byOne = yield* until(
        "a verdict of one provider",
        Effect.map(rowsOf, (rows) => {
          const found = rows.filter(isByOne).length
          return found === 0 ? undefined : found
        }),
        "5 minutes"
      )
      tally.set("confirmed by one when the first was", byOne)
      second.trouble = undefined
      const rows = yield* Verdict.check(tally, chain, service, load)
      tally.set("confirmed by one", rows.filter(isByOne).length)
    })
}
