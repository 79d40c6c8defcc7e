// Events of the service, the newest first.
import { Effect } from "effect"
import type { Event } from "../../../src/client/Client.ts"
import { EventQuery } from "../../../src/domain/event/Event.ts"
import { call } from "./Client.ts"
import { pageOf, queryReader } from "./Pages.ts"
import { queries } from "./Registry.ts"

export type { Event }

const readQuery = queryReader(EventQuery, ["type"])

/** The events from the place that the parameters of the address name. */
export const eventPage = queries((key) =>
  call(({ events }) =>
    Effect.flatMap(readQuery(key), (query) =>
      pageOf(events.list({ query, headers: {}, responseMode: "decoded-and-response" }))
    )
  )
)
