// A hostile client posts attacks on the fee payer of solana beside honest load. The relayers lose what that costs, and nothing else.
import { Effect } from "effect"
import { feeOf, systemProgram } from "../../src/networks/solana/rules/Programs.ts"
import * as Bank from "../../testkit/solana/Bank.ts"
import * as Machine from "../../testkit/solana/Machine.ts"
import * as RawAttacks from "../../testkit/solana/RawAttacks.ts"
import * as Svm from "../../testkit/solana/Svm.ts"
import type { Case } from "../Case.ts"
import { attack } from "../sending/Attacking.ts"
import type { Request } from "../sending/Attacking.ts"
import type { Relayer } from "../sending/Relayers.ts"
import type * as Chain from "./Chain.ts"
import * as Effects from "./Effects.ts"
import * as Opening from "./Opening.ts"
import * as Verdict from "./Verdict.ts"

/** The hostile client has every scope for transactions, and its key may spend no lamports of the relayer. */
const scopes = ["transactions:read", "transactions:write", "transactions:sign", "rpc:call"]
const limits = { solana: { max_value: "0" } }

/** Requests of the hostile client at the same time. */
const attackers = 4

/** Sends each attack to each endpoint that accepts transactions. */
const requestsOf = ({ cluster }: Chain.Chain, { id, address }: Relayer): ReadonlyArray<Request> => {
  const at = (suffix: string) => `/api/v1/relayers/${id}${suffix}`
  const blockhash = cluster.blocks.at(-2)?.blockhash ?? ""
  const raw = RawAttacks.versions.flatMap((version) =>
    RawAttacks.attacksIn(version).map((attack) => attack.raw(address, blockhash))
  )
  const bodies = [
    ...raw.map((transaction) => ({ transaction })),
    ...RawAttacks.versions.flatMap((version) => RawAttacks.ownAttacks(address, version))
  ]
  return [
    ...bodies.flatMap((body) => [
      { path: at("/transactions"), body },
      { path: at("/transactions/batch"), body: { transactions: [body] } }
    ]),
    ...raw.flatMap((transaction) => [
      { path: at("/sign-transaction"), body: { transaction } },
      { path: at("/rpc"), body: { method: "signTransaction", params: { transaction } } },
      { path: at("/rpc"), body: { method: "signAndSendTransaction", params: { transaction } } }
    ])
  ]
}

/** Lamports that the relayer has paid in all blocks: fees, and the transfers that the load requested. */
const costsOf = ({ cluster }: Chain.Chain, relayer: string): bigint => {
  let costs = 0n
  for (const { error, wire } of cluster.blocks.flatMap(({ transactions }) => transactions)) {
    if (wire.message.keys[0] !== relayer) continue
    costs += feeOf(wire.message).total
    if (error === null) costs += Effects.transferredBy(wire.message, relayer)
  }
  return costs
}

export const SolanaDrain: Case = {
  name: "solana-drain",
  promise:
    "attacks on the fee payer for a minute beside honest load: the relayers lose fees and what the load sends, exactly",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const machine = Svm.installed()
      tally.set("machine", machine === undefined ? "transfers only" : "agave")
      const run = machine === undefined ? Bank.run : Machine.make(machine)
      const { chain, relayers, send, service } = yield* Opening.open({ run })
      const before = relayers.map(({ address }) => chain.cluster.balanceOf(address))
      const { load, stop } = yield* send(random)
      const { passed, refused } = yield* attack(service, {
        scopes,
        limits,
        requests: () => requestsOf(chain, random.pick([relayers[0] as Relayer, ...relayers.slice(1)])),
        random,
        atOnce: attackers,
        lasts: amount(60_000, 8000),
        least: amount(500, 100)
      })
      yield* stop
      yield* Verdict.check(tally, chain, service, load)
      tally.set("attacks refused", refused)
      tally.expect(refused > 0 && passed.length === 0, `every attack is refused: ${JSON.stringify(passed[0])}`)
      for (const [index, { address }] of relayers.entries()) {
        const account = chain.cluster.accountOf(address)
        const expected = (before[index] ?? 0n) - costsOf(chain, address)
        tally.expect(
          account?.lamports === expected && account.owner === systemProgram && account.data.length === 0,
          `relayer ${address} has ${expected} lamports and belongs to the System program: ${account?.lamports}`
        )
      }
    })
}
