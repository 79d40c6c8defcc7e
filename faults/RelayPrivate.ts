// Private and public transactions on one lane, while instances die, hang and are put back from a copy, policies change and private endpoints
// die, keep old versions and forget. Each request to a normal URL is searched.
import { Array, Effect } from "effect"
import * as path from "node:path"
import { until } from "../testkit/process/Folder.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case, Context } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import { copyTo, kill, opened, putBack, waitsForOperator } from "./RelayCopy.ts"
import * as Counter from "./sending/Counter.ts"
import * as Instances from "./sending/Instances.ts"
import * as Load from "./sending/Load.ts"
import type { Accepted } from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as PrivateUrls from "./sending/PrivateUrls.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as EvmProxy from "../testkit/EvmProxy.ts"
import * as World from "./World.ts"

/** Milliseconds. */
const lease = 3000

/** Slots of the counter, so that the word of a call has digits that nothing else has. */
const firstSlot = 0x1e_c2e7_ca11_0000
const words = /1ec2e7ca11[0-9a-f]{4}/g

/**
 * Requests that follow each other: a private one is sent when all public ones before it are mined. A third asks for it itself; of the others, the
 * policy makes a third private.
 */
const burst = 8

const isPrivate = (slot: number): boolean => Math.floor((slot - firstSlot) / burst) % 3 === 0

const requestOf = (slot: number) => ({ ...Counter.requestOf(slot), ...(isPrivate(slot) ? { private: true } : {}) })

/** Transactions of each kind that a run has at least. */
const least = 200
const shortLeast = 1

/** Transactions of the load, of which about half are public: a third of its requests asks for a private one, and the policy makes others private. */
const leastAccepted = 500
const shortLeastAccepted = 2 * burst

/** A lane with two normal URLs and two private ones. */
const makeLane = Effect.fnUntraced(function* (service: Listening) {
  const node = yield* Node.start
  // What it gets, the first one gets from it.
  const second = yield* EvmProxy.make(node.url)
  const secret = yield* PrivateUrls.start(node, 2, () => node.seen.length)
  for (const { manners } of secret.endpoints) manners.answersReads = true
  const relayers = yield* Relayers.make(service, node, {
    count: 1,
    network: { rpc_urls: [node.url, second.url], private_rpc_urls: secret.urls, average_blocktime_ms: 500 }
  })
  const [relayer] = relayers
  if (relayer === undefined) return yield* Effect.die(new Error("no relayer"))
  return { node, secret, relayer, relayers }
})

type Lane = Effect.Success<ReturnType<typeof makeLane>>

/** Searches the requests to normal URLs. `published`: how many there were when a caller made the transaction of a slot public. */
const search = Effect.fnUntraced(function* (
  { tally }: Context,
  service: Listening,
  { node, secret }: Lane,
  accepted: ReadonlyArray<Accepted>,
  published: ReadonlyMap<number, number> = new Map()
) {
  const secrets = new Map<string, number>()
  let count = 0
  for (const one of accepted) {
    const { route } = yield* Verdict.shown(service, one)
    if (route === undefined) continue
    count += 1
    secrets.set(one.slot.toString(16), published.get(one.slot) ?? Infinity)
  }
  const leaks = PrivateUrls.leaksIn(node.seen, secret, words, (word) => secrets.get(word))
  tally.add("requests to normal URLs", node.seen.length)
  tally.add("signed bytes at private URLs", secret.every.length)
  tally.expect(leaks.length === 0, `normal URLs get nothing secret: ${leaks.length} times, such as ${leaks[0]}`)
  return count
})

/** Sends transactions that neither the policy nor the request makes private, so that each run has some. */
const sendPublic = Effect.fnUntraced(function* ({ tally }: Context, service: Listening, lane: Lane, from: number) {
  const { node, relayer } = lane
  const body = { policies: { private_transactions: false } }
  const { status, text } = yield* service.call(`/api/v1/relayers/${relayer.id}`, { method: "PATCH", body })
  tally.expect(status === 200, `the policy is changed, so that it makes nothing private: ${status} ${text}`)
  const sent = yield* Effect.forEach(Array.range(from, from + burst - 1), (slot) =>
    Load.send(service, relayer, slot, {}, Counter.requestOf(slot))
  )
  yield* Verdict.settled(service)
  for (const one of sent) {
    const { route, status } = yield* Verdict.shown(service, one)
    tally.expect(route === undefined, `${one.id} is public: ${route}`)
    tally.expect(status === "confirmed", `${one.id} is public and ends confirmed: ${status}`)
  }
  yield* Verdict.checkEffects(tally, node, sent)
  return sent
})

/** Every private endpoint is dead: a cancel ends a transaction, and a caller makes another one public. */
const endWithoutThem = Effect.fnUntraced(function* ({ tally }: Context, service: Listening, lane: Lane, from: number) {
  const { node, relayer, secret } = lane
  for (const { manners } of secret.endpoints) manners.isDead = true
  const path = `/api/v1/relayers/${relayer.id}/transactions`
  const sent = yield* Effect.forEach(Array.range(0, 5), (index) => {
    const request = { ...Counter.requestOf(from + index), gas_limit: 60_000, private: true }
    return Load.send(service, relayer, from + index, {}, request)
  })
  yield* until(
    "the signatures of private transactions",
    Effect.map(
      Effect.forEach(sent, (one) => Verdict.shown(service, one)),
      (rows) => (rows.every(({ status }) => status === "sent" || status === "submitted") ? true : undefined)
    ),
    "2 minutes"
  )
  const published = new Map<number, number>()
  for (const [index, { id, slot }] of sent.entries()) {
    if (index % 2 === 0) yield* service.call(`${path}/${id}`, { method: "DELETE" })
    else {
      published.set(slot, node.seen.length)
      const { status, text } = yield* service.call(`${path}/${id}/route`, { body: { route: "public" } })
      tally.expect(status === 200, `a caller makes a transaction public: ${status} ${text}`)
    }
  }
  yield* Verdict.settled(service)
  for (const [index, one] of sent.entries()) {
    const { status } = yield* Verdict.shown(service, one)
    const expected = index % 2 === 0 ? "canceled" : "confirmed"
    tally.expect(status === expected, `without private endpoints ${one.id} ends ${expected}: ${status}`)
  }
  yield* Verdict.checkEffects(
    tally,
    node,
    sent.filter((_, index) => index % 2 === 1)
  )
  yield* Verdict.checkEffects(
    tally,
    node,
    sent.filter((_, index) => index % 2 === 0),
    0
  )
  tally.add("ended without private endpoints", sent.length)
  return { sent, published }
})

const instances = Effect.fnUntraced(function* (context: Context) {
  const { amount, random, tally } = context
  const { listen } = yield* ExternalPostgres.make

  const open = Effect.fnUntraced(function* (service: Listening) {
    const lane = yield* makeLane(service)
    const { node, relayer, relayers, secret } = lane
    const [one, other] = secret.endpoints
    if (one === undefined || other === undefined) return yield* Effect.die(new Error("two endpoints are expected"))
    other.manners.includesOldest = true
    let isOver = false

    /** Policies change, and one of the endpoints dies and comes back, forgets soon, or takes nonces beyond the next. */
    const flip = Effect.gen(function* () {
      one.manners.isDead = random.pick([true, false])
      one.manners.life = random.pick([3, 25])
      one.manners.refusesGaps = random.pick([true, false])
      const policies = { private_transactions: random.pick([true, false, false]) }
      const { status } = yield* service.call(`/api/v1/relayers/${relayer.id}`, { method: "PATCH", body: { policies } })
      tally.add(status === 200 ? "changes of policies" : "changes of policies that the busy service refused")
      yield* Effect.sleep(random.int(1000, 3000))
    })
    yield* Effect.forkScoped(Effect.whileLoop({ while: () => !isOver, body: () => flip, step: () => undefined }))

    return {
      relayers,
      requestOf,
      firstSlot,
      check: Effect.fnUntraced(function* (read: Listening, load: Load.Load) {
        isOver = true
        yield* Effect.sleep("4 seconds")
        one.manners.isDead = false
        yield* Verdict.check(tally, node, read, relayers, load)
        const from = Math.max(...load.accepted.map(({ slot }) => slot)) + 1
        const others = yield* sendPublic(context, read, lane, from)
        const { published, sent } = yield* endWithoutThem(context, read, lane, from + others.length)
        const all = [...load.accepted, ...others, ...sent]
        const found = yield* search(context, read, lane, all, published)
        tally.set("private", found)
        const fewest = amount(least, shortLeast)
        tally.expect(found >= fewest, `at least ${fewest} transactions are private: ${found}`)
        const rest = all.length - found
        tally.expect(rest >= fewest, `at least ${fewest} transactions are public: ${rest}`)
      })
    }
  })

  const scene: Instances.Scene = { env: Relayers.env, pause: 600, open }
  const faults = { kills: amount(30, 3), freezes: amount(4, 1), least: amount(leastAccepted, shortLeastAccepted) }
  yield* Instances.run({ random, tally, listen, ...faults, lease, scene })
})

const copies = 5
const shortCopies = 1

/** Transactions of each kind before a copy, and after it. */
const eachTime = 10

const copy = Effect.fnUntraced(function* (context: Context) {
  const { amount, random, tally } = context
  const world = yield* World.make
  const listen = world.listen({ ...Relayers.env, HEALTH_CHECK_INTERVAL_MS: "1000" })
  let service = yield* listen
  const lane = yield* makeLane(service)
  const { node, relayer } = lane
  const sent: Array<Accepted> = []

  const sendSome = Effect.gen(function* () {
    for (let index = 0; index < 2 * eachTime; index++) {
      const slot = firstSlot + sent.length
      sent.push(yield* Load.send(service, relayer, slot, {}, requestOf(slot)))
    }
  })

  const counts = Effect.suspend(() =>
    Counter.read(
      node,
      sent.map(({ slot }) => slot)
    )
  )
  const executed = until(
    "blocks with all that was sent",
    Effect.map(counts, (found) => (found.every((count) => count > 0) ? true : undefined)),
    "3 minutes"
  )

  for (let round = 0; round < amount(copies, shortCopies); round++) {
    yield* sendSome
    yield* Effect.sleep(random.int(0, 1500))
    const folder = path.join(world.home, `copy-${round}`)
    yield* copyTo(world, folder)
    yield* sendSome
    yield* executed
    yield* kill(world, service)
    yield* putBack(world, folder)
    service = yield* listen
    const waiting = yield* opened(service, "the end of all that is not for an operator", waitsForOperator)
    for (const { id, relayer_id } of waiting) {
      const body = { answer: "give_up", transaction_id: id }
      const { status, text } = yield* service.call(`/api/v1/relayers/${relayer_id}/nonce/resync`, { body })
      if (status !== 200) return yield* Effect.die(new Error(`${status} ${text}`))
    }
    const twice = (yield* counts).findIndex((count) => count !== 1)
    tally.expect(twice === -1, `copy ${round}: each effect happens once: that of ${sent[twice]?.id} does not`)
    tally.add("copies")
    tally.add("waited for an operator", waiting.length)
    if (tally.broken.length > 0) return
  }
  yield* Verdict.settled(service)
  // The copy has forgotten which transactions were private after it: those of these slots were.
  const secrets = new Map(sent.map(({ slot }) => [slot.toString(16), isPrivate(slot) ? Infinity : undefined]))
  const leaks = PrivateUrls.leaksIn(node.seen, lane.secret, words, (word) => secrets.get(word))
  tally.expect(leaks.length === 0, `normal URLs get nothing secret: ${leaks.length} times, such as ${leaks[0]}`)
  tally.add("requests to normal URLs", node.seen.length)
})

export const RelayPrivate: Case = {
  name: "relay-private",
  promise:
    "private and public transactions on one lane: normal URLs get no private bytes, call or hash before a block shows them, and each effect happens once",
  isShort: true,
  parts: ["instances", "copy"],
  run: (context) =>
    Effect.gen(function* () {
      if (context.isChosen("instances")) yield* Effect.scoped(instances(context))
      if (context.isChosen("copy")) yield* Effect.scoped(copy(context))
    })
}
