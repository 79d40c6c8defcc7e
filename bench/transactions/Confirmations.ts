// When each `transaction.confirmed` event arrived, as a client of the service's event stream sees it.
import { Effect, Schema } from "effect"
import * as http from "node:http"
import { key } from "../harness/Installation.ts"
import * as Machine from "../harness/Machine.ts"

export interface Confirmation {
  /** Milliseconds since 1970. */
  readonly at: number
  /** The block, slot or ledger that has the transaction. */
  readonly block: number
}

export class NotConfirmed extends Schema.TaggedError<NotConfirmed>()("NotConfirmed", { message: Schema.String }) {}

export interface Confirmations {
  readonly seen: ReadonlyMap<string, Confirmation>
  /** Waits until all of them are confirmed. */
  all(ids: ReadonlyArray<string>): Effect.Effect<void, NotConfirmed>
}

/** Minutes: what takes longer is stuck. */
const patience = "5 minutes"

const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" }

const readFrame = (frame: string, seen: Map<string, Confirmation>, at: number) => {
  const data = /^data: (.*)$/m.exec(frame)?.[1]
  if (data === undefined) return
  const event = JSON.parse(data)
  const { block_number: block, ledger, slot } = event.data
  seen.set(event.resource_id, { at, block: block ?? ledger ?? slot })
}

/** Follows the service at `url` until the scope closes. */
export const follow = Effect.fnUntraced(function* (url: string) {
  const seen = new Map<string, Confirmation>()
  yield* Effect.acquireRelease(
    Effect.callback<http.ClientRequest>((resume) => {
      const request = http.get(`${url}/api/v1/events?after=0&type=transaction.confirmed`, { headers }, (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => {
          const frames = `${text}${chunk}`.split("\n\n")
          text = frames.pop() ?? ""
          for (const frame of frames) readFrame(frame, seen, Machine.now())
        })
        resume(Effect.succeed(request))
      })
      request.on("error", (error) => resume(Effect.die(error)))
    }),
    (request) => Effect.sync(() => request.destroy())
  )

  const all: Confirmations["all"] = (ids) =>
    Effect.sync(() => ids.every((id) => seen.has(id))).pipe(
      Effect.tap((done) => (done ? Effect.void : Effect.sleep("5 millis"))),
      Effect.repeat({ until: (done) => done }),
      Effect.asVoid,
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => {
          const missing = ids.filter((id) => !seen.has(id)).length
          return Effect.fail(
            new NotConfirmed({ message: `${missing} of ${ids.length} transactions are not confirmed` })
          )
        }
      })
    )

  const confirmations: Confirmations = { seen, all }
  return confirmations
})
