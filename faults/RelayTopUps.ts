// Top-ups while two instances are killed at random moments, one provider lies about the balance, and a thief takes what comes in. The balance of
// the payer on the chain says what was paid.
import { Effect, Schema } from "effect"
import { until } from "../testkit/process/Folder.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case, Context } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Counter from "./sending/Counter.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as EvmProxy from "../testkit/EvmProxy.ts"

const ether = 10n ** 18n

/** Wei. Each theft is followed by a payment of `to`, until the limit is reached. */
const topUp = { below: ether, to: 3n * ether }
const maxPerDay = 20n * ether
const shortMaxPerDay = 7n * ether

/** Wei that the fees of all transactions of the payer together can cost at most. */
const fees = ether / 10n

const kills = 30
const shortKills = 2

/** Milliseconds. */
const lease = 3000

const env = { ...Relayers.env, HEALTH_CHECK_INTERVAL_MS: "1000", LANE_LEASE_MS: String(lease) }

const Explained = Schema.fromJsonString(
  Schema.Struct({
    data: Schema.Struct({
      top_up: Schema.Struct({
        code: Schema.optionalKey(Schema.String),
        transaction_id: Schema.optionalKey(Schema.String)
      })
    })
  })
)

const run = Effect.fnUntraced(function* ({ amount, random, tally }: Context) {
  const { listen } = yield* ExternalPostgres.make
  const instances: [Listening, Listening] = [yield* listen(env), yield* listen(env)]
  const undisturbed = yield* listen(env)
  const node = yield* Node.start
  const liar = yield* EvmProxy.make(node.url)
  const [treasury] = yield* Relayers.make(undisturbed, node, {
    count: 1,
    network: { rpc_urls: [node.url, liar.url] }
  })
  if (treasury === undefined) return yield* Effect.die(new Error("no relayer"))
  const limit = amount(maxPerDay, shortMaxPerDay)
  const target = yield* Relayers.createOne(undisturbed, {
    network: "anvil",
    network_type: "evm",
    policies: {
      top_up: { from: treasury.id, below: String(topUp.below), to: String(topUp.to), max_per_day: String(limit) }
    }
  }).pipe(Effect.orDie)

  const balanceOf = (address: string) =>
    Effect.map(node.call("eth_getBalance", [address, "latest"]), (wei) => BigInt(String(wei)))
  const before = yield* balanceOf(treasury.address)

  // It shows an empty account at each block, and everything else as it is.
  liar.set("eth_getBalance", {
    do: "change",
    result: (result, { params }) => (String(params[0]).toLowerCase() === target.address ? "0x0" : result)
  })

  let isOver = false
  const steal = Effect.gen(function* () {
    if ((yield* balanceOf(target.address)) > 0n) {
      yield* node.call("anvil_setBalance", [target.address, "0x0"])
      tally.add("thefts")
    }
    yield* Effect.sleep(random.int(200, 1500))
  })
  yield* Effect.forkScoped(Effect.whileLoop({ while: () => !isOver, body: () => steal, step: () => undefined }))

  const disturb = Effect.fnUntraced(function* (which: 0 | 1) {
    yield* Effect.sleep(random.int(0, 2000))
    yield* instances[which].kill("SIGKILL")
    yield* instances[which].exited
    yield* Effect.sleep(random.int(0, 300))
    instances[which] = yield* listen(env)
    tally.add("kills")
  })
  for (let kill = 0; kill < amount(kills, shortKills); kill++) yield* disturb(kill % 2 === 0 ? 0 : 1)

  const explained = undisturbed.call(`/api/v1/relayers/${target.id}/explain`).pipe(
    Effect.flatMap(({ text }) => Schema.decodeEffect(Explained)(text)),
    Effect.map(({ data }) => data.top_up),
    Effect.orDie
  )
  yield* until(
    "the limit",
    Effect.map(explained, ({ code }) => (code === "top_up_capped" ? true : undefined)),
    "5 minutes"
  )
  // The payer goes on with its other sends.
  const slot = 1
  const sent = yield* Load.send(undisturbed, treasury, slot, {}, Counter.requestOf(slot))
  yield* Verdict.settled(undisturbed)
  isOver = true
  yield* Verdict.checkEffects(tally, node, [sent])
  const paid = before - (yield* balanceOf(treasury.address))
  tally.set("paid, in thousandths of an ether", Number(paid / (ether / 1000n)))
  tally.expect(paid <= limit + fees, `at most ${limit} wei are paid in 24 hours: ${paid}`)
  tally.expect(paid > limit - topUp.to, `the limit is used: ${paid} of ${limit} wei`)
  const { code, transaction_id } = yield* explained
  tally.expect(code === "top_up_capped" && transaction_id === undefined, `nothing is open at the limit: ${code}`)
})

export const RelayTopUps: Case = {
  name: "relay-top-ups",
  promise:
    "top-ups by two instances that are killed, beside a provider that lies and a thief: the chain shows no more than max_per_day, and the payer goes on",
  isShort: true,
  run: (context) => Effect.scoped(run(context))
}
