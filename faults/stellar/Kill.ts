// SIGKILL of the service, its PostgreSQL or both while transactions of stellar are sent, and several instances of which two are killed or
// frozen beyond their lease.
import { Array, Effect } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import type { Case, Context } from "../Case.ts"
import * as ExternalPostgres from "../ExternalPostgres.ts"
import * as Instances from "../sending/Instances.ts"
import * as Load from "../sending/Load.ts"
import * as World from "../World.ts"
import * as Chain from "./Chain.ts"
import * as Opening from "./Opening.ts"
import * as Verdict from "./Verdict.ts"

/** Milliseconds of the case, and of the case with `--short`. */
const duration = 120_000
const shortDuration = 15_000

/** Channels of the first relayer, which gets as many times the requests of each other relayer. */
const channels = 8

/** The service accepts at least so many requests between two kills, so that each kill can lose some. */
const betweenKills = 8

/** The case makes so many kills even if its time is over: on a busy machine, a start takes ten seconds. */
const leastKills = 3

/** Waits for accepted requests. Each kill can then lose some. */
const acceptedAtLeast = ({ accepted }: Load.Load, count: number) =>
  until(
    "accepted requests between two kills",
    Effect.sync(() => (accepted.length >= count ? true : undefined)),
    "2 minutes"
  )

/** Four relayers send, one of them by channels, while a case kills what serves them. */
const begin = Effect.fnUntraced(function* ({ random, tally }: Context) {
  const world = yield* World.make
  const chain = yield* Chain.start(2)
  const listen = world.listen(Opening.env)
  let service = yield* listen
  const relayers = yield* Opening.relayersOn(service, chain, { channels })
  const [first, ...others] = relayers
  if (first === undefined) return yield* Effect.die(new Error("there is no relayer"))
  const used = yield* Opening.channelsOf(service, first)
  tally.set("channels", used.length)
  const before = Verdict.sequencesOf(chain, [...relayers, ...used])
  const { load, stop } = yield* Load.start({
    urls: () => [service.baseUrl],
    relayers: [...Array.replicate(first, channels), ...others],
    random,
    pause: Opening.pause / 2,
    requestOf: Chain.requestOf
  })
  return {
    chain,
    load,
    kill: Effect.fnUntraced(function* (victims: World.Victims) {
      tally.add(`kills of ${victims}`)
      yield* World.kill(victims, { service: service.pid, postgres: yield* world.postgres })
      if (victims !== "postgres") service = yield* listen
    }),
    /** Checks all requests, after the last one. */
    end: Effect.gen(function* () {
      yield* stop
      yield* Verdict.check(tally, service, { chain, load, before })
      const idle = used.filter(({ address }) => Chain.usesOf(chain, address) === 0)
      tally.expect(idle.length === 0, `every channel has transactions in the ledgers: ${idle.length} have none`)
    })
  }
})

export const StellarRelay: Case = {
  name: "stellar-relay",
  promise:
    "kills while sending on stellar: each accepted payment is confirmed, and made once; sequences of relayers and channels have no holes",
  run: (context) =>
    Effect.gen(function* () {
      const { amount, random, tally } = context
      const { chain, end, kill, load } = yield* begin(context)
      const endsAt = performance.now() + amount(duration, shortDuration)
      for (let kills = 0; kills < leastKills || performance.now() < endsAt; kills++) {
        yield* acceptedAtLeast(load, load.accepted.length + betweenKills)
        yield* Effect.sleep(random.int(100, 2500))
        const victims = random.pick([...World.victims, "node" as const])
        if (victims !== "node") {
          yield* kill(victims)
          continue
        }
        tally.add("kills of node")
        // A node that was restarted has forgotten its queue and its bans.
        for (const queue of chain.network.nodes) queue.restart()
      }
      yield* end
    })
}

/** Payments of the case, and of the case with `--short`. */
const payments = 300
const fewPayments = 40

/** Ledgers that an index of transactions is behind at most. */
const longestLag = 10

/** Milliseconds between two changes of the lag of a provider. */
const lagLasts = [1000, 8000] as const

/** Each provider has a lag of its own, which changes at random: the same for each ledger or not, named or not, or none. */
const changeLags = ({ misbehave, urls }: Chain.Chain, { random, tally }: Context) =>
  Effect.gen(function* () {
    for (const provider of urls.keys()) {
      const lag = {
        ledgers: random.int(1, longestLag),
        ...(random.int(0, 1) === 0 ? {} : { isRandom: true as const }),
        ...(random.int(0, 1) === 0 ? {} : { isHonest: true as const })
      }
      misbehave(provider, { indexLag: random.int(0, 4) === 0 ? undefined : lag })
    }
    tally.add("changes of the lag")
    yield* Effect.sleep(random.int(...lagLasts))
  })

export const StellarLag: Case = {
  name: "stellar-lag",
  promise:
    "the transactions of both providers are up to ten ledgers behind their ledger numbers, and the service dies: each accepted payment is confirmed, and made once",
  isShort: true,
  run: (context) =>
    Effect.gen(function* () {
      const { amount, random } = context
      const { chain, end, kill, load } = yield* begin(context)
      yield* Effect.forkScoped(Effect.forever(changeLags(chain, context)))
      const wanted = amount(payments, fewPayments)
      while (load.accepted.length < wanted) {
        yield* acceptedAtLeast(load, Math.min(wanted, load.accepted.length + amount(3, 2) * betweenKills))
        yield* Effect.sleep(random.int(100, 2500))
        yield* kill("service")
      }
      yield* end
    })
}

/** The scene for several instances on stellar. The check writes its counts to `tally`. */
export const scene = (tally: Context["tally"]): Instances.Scene => ({
  env: Opening.env,
  pause: Opening.pause,
  open: Effect.fnUntraced(function* (service) {
    const chain = yield* Chain.start(2)
    const relayers = yield* Opening.relayersOn(service, chain, { count: 6 })
    const before = Verdict.sequencesOf(chain, relayers)
    return {
      relayers,
      requestOf: Chain.requestOf,
      check: (read, load) => Effect.asVoid(Verdict.check(tally, read, { chain, load, before }))
    }
  })
})

/** Milliseconds: an instance that is frozen for longer has lost its lanes. */
const lease = 3000

export const StellarFrozen: Case = {
  name: "stellar-frozen",
  promise:
    "two of three instances die or hang beyond their lease while all send on stellar: each payment is confirmed, and made once",
  // A hundred faults, and a start after each kill: 25 seconds each on a busy machine. Then envelopes have to die.
  patience: "1 hour",
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const { listen } = yield* ExternalPostgres.make
      const [kills, freezes] = amount([80, 20], [10, 10])
      yield* Instances.run({ random, tally, listen, kills, freezes, lease, scene: scene(tally) })
    })
}
