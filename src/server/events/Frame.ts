// The text of an event in a stream, encoded once for all readers.
import { Schema } from "effect"
import { Sse } from "effect/encoding"
import * as Json from "../../api/Json.ts"
import { Event } from "../../domain/event/Event.ts"

const encode = Schema.encodeSync(Json.fromText(Event))

const frames = new WeakMap<Event, string>()

export const frame = (event: Event): string => {
  let text = frames.get(event)
  if (text === undefined) {
    text = Sse.encoder.write({ _tag: "Event", id: String(event.id), event: event.type, data: encode(event) })
    frames.set(event, text)
  }
  return text
}
