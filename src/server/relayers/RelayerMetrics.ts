// The metrics of relayers.
import { Metric } from "effect"

export const relayerCount = Metric.gauge("relayers", { description: "Relayers, by network type and state." })

export const all = [relayerCount]
