// What the scripts of all networks share: a service on a node, and what becomes of the transactions that are sent through it.
import { Array, Effect, Schedule, Scope } from "effect"
import * as Restoring from "../faults/sending/Restoring.ts"
import * as Relayers from "../faults/sending/Relayers.ts"
import * as World from "../faults/World.ts"
import * as Service from "../testkit/process/Service.ts"
import type { Answer, Listening } from "../testkit/process/Service.ts"

export interface Shown {
  readonly id: string
  readonly status: string
  readonly code?: string
  readonly contract_address?: string
}

/** What a stellar relayer says of its sequences. */
interface Places {
  readonly channels?: ReadonlyArray<object>
  readonly locked_by_channels?: string
}

/** States in which nothing happens any more. */
const final: ReadonlySet<string> = new Set(["confirmed", "failed", "canceled", "expired"])

/** How long a transaction may take to become final: Solana proves that bytes are dead after about three minutes. */
const patience = "6 minutes"

/** How long a top-up may take: two health checks, and a payment. */
const topUpPatience = "2 minutes"

/** Checks are frequent, so that a relayer whose account got funds is enabled soon. */
const env = { ...Relayers.env, HEALTH_CHECK_INTERVAL_MS: "1000" }

const dataOf = <A>({ text }: Answer): A => (JSON.parse(text) as { readonly data: A }).data

/** The service, which can be killed, and commands on its data. */
export const open = Effect.gen(function* () {
  const world = yield* World.make
  const { backup, restore } = Restoring.commandsIn(world)
  let service: Listening = yield* world.listen(env)

  const call = (path: string, options?: Service.Call) => Effect.suspend(() => service.call(`/api/v1/${path}`, options))

  const createNetwork = (body: object) => Effect.suspend(() => Relayers.create(service, "networks", body))

  const createRelayer = (fields: object, signer?: object) =>
    Effect.suspend(() => Relayers.createOne(service, fields, signer))

  /** The response of the service to a send. */
  const ask = (relayer: Relayers.Relayer, body: object) => call(`relayers/${relayer.id}/transactions`, { body })

  const send = (relayer: Relayers.Relayer, body: object) =>
    Effect.flatMap(ask(relayer, body), (answer) =>
      answer.status === 200
        ? Effect.succeed(dataOf<Shown>(answer))
        : Effect.die(new Error(`the send was refused: ${answer.status} ${answer.text}`))
    )

  const shown = (relayer: Relayers.Relayer, { id }: Pick<Shown, "id">) =>
    Effect.map(call(`relayers/${relayer.id}/transactions/${id}`), dataOf<Shown>)

  /** The transactions of a query, the newest first. */
  const list = (relayer: Relayers.Relayer, query: string) =>
    Effect.map(call(`relayers/${relayer.id}/transactions?${query}`), dataOf<ReadonlyArray<Shown>>)

  const nonce = (relayer: Relayers.Relayer) => Effect.map(call(`relayers/${relayer.id}/nonce`), dataOf<Places>)

  const when = (relayer: Relayers.Relayer, sent: Pick<Shown, "id">, isTrue: (row: Shown) => boolean) =>
    shown(relayer, sent).pipe(
      Effect.repeat({ until: isTrue, schedule: Schedule.spaced("250 millis") }),
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () =>
          Effect.flatMap(call(`relayers/${relayer.id}/transactions/${sent.id}/explain`), ({ text }) =>
            Effect.die(new Error(`the transaction is not final after ${patience}: ${text}`))
          )
      })
    )

  /** The transaction, when it is final. */
  const end = (relayer: Relayers.Relayer, sent: Pick<Shown, "id">) =>
    when(relayer, sent, ({ status }) => final.has(status))

  const ends = (relayer: Relayers.Relayer, all: ReadonlyArray<Pick<Shown, "id">>) =>
    Effect.forEach(all, (one) => end(relayer, one), { concurrency: 8 })

  /** Sends all at once, eight at a time. */
  const sendAll = (relayer: Relayers.Relayer, bodies: ReadonlyArray<object>) =>
    Effect.forEach(bodies, (body) => send(relayer, body), { concurrency: 8 })

  const cancel = (relayer: Relayers.Relayer, { id }: Pick<Shown, "id">) =>
    call(`relayers/${relayer.id}/transactions/${id}`, { method: "DELETE" })

  // A service that a case starts must outlive the case, so it belongs to the scope of the whole script.
  const scope = yield* Effect.scope
  const start = world.listen(env).pipe(
    Effect.map((next) => void (service = next)),
    Scope.provide(scope)
  )

  /** SIGKILL of the service and its PostgreSQL, and a start. */
  const kill = Effect.gen(function* () {
    yield* World.kill("both", { service: service.pid, postgres: yield* world.postgres })
    yield* start
  })

  /** Waits until an account that had nothing has something, which a top-up has paid. `balance`: of the account, by the node. */
  const toppedUp = (relayer: Relayers.Relayer, balance: Effect.Effect<bigint>) =>
    balance.pipe(
      Effect.repeat({ until: (found) => found > 0n, schedule: Schedule.spaced("1 second") }),
      Effect.timeoutOrElse({
        duration: topUpPatience,
        orElse: () =>
          Effect.flatMap(call(`relayers/${relayer.id}/explain`), ({ text }) =>
            Effect.die(new Error(`no top-up in ${topUpPatience}: ${text}`))
          )
      })
    )

  /** Runs `use` while the service stands still, so that it sees nothing of what lies between. */
  const frozen = <A, E, R>(use: Effect.Effect<A, E, R>) =>
    Effect.suspend(() => {
      const { kill: signal } = service
      return Effect.ensuring(Effect.andThen(signal("SIGSTOP"), use), signal("SIGCONT"))
    })

  /** Stops the service, puts the backup back, and starts it. */
  const putBack = Effect.gen(function* () {
    yield* Service.stop(service)
    yield* restore
    yield* start
  })

  return {
    call,
    createNetwork,
    createRelayer,
    ask,
    send,
    sendAll,
    shown,
    list,
    nonce,
    when,
    end,
    ends,
    cancel,
    kill,
    toppedUp,
    frozen,
    backup,
    putBack
  }
})

/** How a transaction ended, in the words of the tables. */
export const ended = ({ code, status }: Shown): string => (status === "failed" ? `failed ${code}` : status)

/** How many ended in which way: `30 confirmed`. */
export const counted = (rows: ReadonlyArray<Shown>): string =>
  [...Map.groupBy(rows, ended)]
    .map(([how, some]) => `${some.length} ${how}`)
    .toSorted()
    .join(", ")

export const times = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> => Array.makeBy(count, make)

export type InScope<A> = Effect.Effect<A, never, Scope.Scope>

export interface Transfers {
  readonly receivers: ReadonlyArray<string>
  readonly sent: ReadonlyArray<Shown>
}

interface Common {
  readonly check: (name: string, expected: string, see: InScope<string>) => Effect.Effect<void, never, Scope.Scope>
  /** Writes a row for a case that the node cannot have. */
  readonly leaveOut: (name: string, why: string) => void
  readonly restart: Effect.Effect<void> | undefined
  readonly relayer: Relayers.Relayer
  /** Sends one transfer to each of some new receivers. */
  readonly transfers: (count: number) => InScope<Transfers>
  /** How the transfers ended, and how many of them the receivers have. */
  readonly outcome: (made: Transfers) => InScope<string>
  /** How many transfers the receivers have, as the node says. */
  readonly received: (receivers: ReadonlyArray<string>) => InScope<bigint>
}

/** The cases that evm and solana have alike: a cancel, a death of the service, a restart of the node, and the restore of a backup. */
export const commonCases = Effect.fnUntraced(function* (
  { backup, cancel, ends, kill, putBack }: Effect.Success<typeof open>,
  { check, leaveOut, outcome, received, relayer, restart, transfers }: Common
) {
  const right = "the receiver has what the status says"
  yield* check(
    "a cancel right after the send",
    right,
    Effect.gen(function* () {
      const { receivers, sent } = yield* transfers(1)
      yield* Effect.forEach(sent, (one) => cancel(relayer, one))
      const rows = yield* ends(relayer, sent)
      const has = yield* received(receivers)
      const wanted = rows.filter(({ status }) => status === "confirmed").length
      return has === BigInt(wanted) ? right : `${counted(rows)}, and the receiver has ${has}`
    })
  )
  yield* check(
    "`kill -9` of the service and its database with 20 transfers in flight",
    "20 confirmed; 20 received",
    Effect.gen(function* () {
      const made = yield* transfers(20)
      yield* kill
      return yield* outcome(made)
    })
  )
  const restarted = "a restart of the node with 10 transfers in flight"
  if (restart === undefined) leaveOut(restarted, "the node keeps its chain in memory, or this command did not start it")
  else {
    yield* check(
      restarted,
      "10 confirmed; 10 received",
      Effect.gen(function* () {
        const made = yield* transfers(10)
        yield* restart
        return yield* outcome(made)
      })
    )
  }
  yield* check(
    "a backup, five transfers, the restore of the backup, and two more",
    "5 received once; 2 confirmed; 2 received",
    Effect.gen(function* () {
      yield* backup
      const forgotten = yield* transfers(5)
      yield* ends(relayer, forgotten.sent)
      yield* putBack
      const after = yield* outcome(yield* transfers(2))
      return `${yield* received(forgotten.receivers)} received once; ${after}`
    })
  )
})
