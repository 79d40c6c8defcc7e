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

/** States in which nothing happens any more. */
const final: ReadonlySet<string> = new Set(["confirmed", "failed", "canceled", "expired"])

/** How long a transaction may take to become final: Solana proves that bytes are dead after about three minutes. */
const patience = "6 minutes"

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

  // Of the script: a service that a case starts goes on after the case.
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
    when,
    end,
    ends,
    cancel,
    kill,
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
