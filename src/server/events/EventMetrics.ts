// The metrics of events.
import { Metric } from "effect"

export const eventStreams = Metric.gauge("event_streams", { description: "Open streams of events." })

export const all = [eventStreams]
