// An event as a stream shows it, made once for all readers.
import { Schema } from "effect"
import { Sse } from "effect/encoding"
import * as Json from "../../api/Json.ts"
import { Event } from "../../domain/event/Event.ts"

const encode = Schema.encodeSync(Json.fromText(Event))

const made = new WeakMap<Event, string>()

export const frame = (event: Event): string => {
  let text = made.get(event)
  if (text === undefined) {
    text = Sse.encoder.write({ _tag: "Event", id: String(event.id), event: event.type, data: encode(event) })
    made.set(event, text)
  }
  return text
}
