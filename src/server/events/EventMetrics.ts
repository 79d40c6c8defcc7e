// The metrics of events.
import { Metric } from "effect"

export const eventStreams = Metric.gauge("event_streams", { description: "Open streams of events." })

export const eventsHeldBack = Metric.gauge("events_held_back", {
  description: "Events that no reader sees yet, because an older transaction on the database server is still open."
})

export const eventsHeldBackSeconds = Metric.gauge("events_held_back_seconds", {
  description: "Age of the oldest event that no reader sees yet, in seconds; 0 if readers see all."
})

export const all = [eventStreams, eventsHeldBack, eventsHeldBackSeconds]
