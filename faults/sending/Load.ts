// Sends transactions at a steady rate, over HTTP. A request without a response is repeated with the same `external_id`, at any
// of the instances, until one of them accepts it: so every request is accepted once.
import { Effect } from "effect"
import { apiKey } from "../../testkit/process/Service.ts"
import type { Listening } from "../../testkit/process/Service.ts"
import * as Random from "../Random.ts"
import * as Counter from "./Counter.ts"
import type { Relayer } from "./Relayers.ts"

export interface Accepted {
  readonly id: string
  readonly relayer: Relayer
  /** Which slot of the counter it counts in. */
  readonly slot: number
}

interface Options {
  /** URLs of instances. Some of them may be dead or frozen. */
  readonly urls: () => ReadonlyArray<string>
  readonly relayers: ReadonlyArray<Relayer>
  readonly random: Random.Random
  /** Milliseconds between two requests of one sender. */
  readonly pause?: number
  /** The first slot that it counts in. Loads of one node need different ones. */
  readonly firstSlot?: number
  /** Builds the request whose effect is counted for a slot. Absent: a call of the counter contract. */
  readonly requestOf?: (slot: number, relayer: Relayer) => object
}

/** Requests that are sent at the same time. */
const senders = 4

/** Milliseconds for a response: a frozen instance gives none. */
const patience = 2000

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const bodyOf = (slot: number, request: object = Counter.requestOf(slot)) => ({
  ...request,
  external_id: `slot-${slot}`
})

const idIn = (text: string) => (JSON.parse(text).data as { readonly id: string }).id

/** Of a busy service: a request that did not arrive in time, and one that was not answered. An earlier try may have been accepted. */
const busy: ReadonlySet<number> = new Set([408, 503])

/** Undefined: there was no response, or it says that the service is busy. */
const post = async (url: string, relayer: Relayer, body: object) => {
  try {
    const response = await fetch(`${url}/api/v1/relayers/${relayer.id}/transactions`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(patience)
    })
    const text = await response.text()
    return busy.has(response.status) ? undefined : { status: response.status, text }
  } catch {
    return undefined
  }
}

export class Load {
  readonly accepted: Array<Accepted> = []
  /** Responses that are neither 200 nor those of a busy service. */
  readonly refused: Array<string> = []
  repeated = 0
  #slot: number
  #isOver = false
  #isAbandoned = false
  readonly #options: Options
  /** Its own, so that the choices of a case do not depend on the speed of the requests. */
  readonly #random: Random.Random
  readonly #senders: ReadonlyArray<Promise<void>>

  constructor(options: Options) {
    this.#options = options
    this.#random = Random.make(options.random.int(0, 1_000_000))
    this.#slot = options.firstSlot ?? 0
    this.#senders = Array.from({ length: senders }, () => this.#sender())
  }

  async #sender() {
    const random = this.#random
    const { relayers, pause = 150 } = this.#options
    while (!this.#isOver) {
      await this.#one(random.pick([relayers[0] as Relayer, ...relayers.slice(1)]), this.#slot++)
      await sleep(random.int(0, 2 * pause))
    }
  }

  async #one(relayer: Relayer, slot: number) {
    const { requestOf, urls } = this.#options
    const body = bodyOf(slot, requestOf?.(slot, relayer))
    while (!this.#isAbandoned) {
      const all = urls()
      const url = all[this.#random.int(0, all.length - 1)]
      const response = url === undefined ? undefined : await post(url, relayer, body)
      if (response?.status === 200) {
        return void this.accepted.push({ id: idIn(response.text), relayer, slot })
      }
      if (response !== undefined) return void this.refused.push(`${response.status} ${response.text}`)
      this.repeated += 1
      await sleep(50)
    }
  }

  async stop() {
    this.#isOver = true
    await Promise.all(this.#senders)
  }

  /** Does not repeat what was not accepted. */
  async abandon() {
    this.#isAbandoned = true
    await this.stop()
  }
}

/** Sends one transaction with further fields. */
export const send = Effect.fnUntraced(function* (
  service: Listening,
  relayer: Relayer,
  slot: number,
  more: object = {},
  request?: object
) {
  const path = `/api/v1/relayers/${relayer.id}/transactions`
  const { status, text } = yield* service.call(path, { body: { ...bodyOf(slot, request), ...more } })
  if (status !== 200) return yield* Effect.die(new Error(`${status} ${text}`))
  const accepted: Accepted = { id: idIn(text), relayer, slot }
  return accepted
})

/** Sends until `stop`, which waits until everything that was sent is accepted, or until the scope closes. */
export const start = (options: Options) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Load(options)),
      (load) => Effect.promise(() => load.abandon())
    ),
    (load) => ({ load, stop: Effect.promise(() => load.stop()) })
  )
