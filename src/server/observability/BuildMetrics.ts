// The metric that names the version of the service.
import { Metric } from "effect"
import { version } from "../../api/Version.ts"

export const buildInfo = Metric.gauge("build_info", {
  description: "Always 1. The label has the version of the service.",
  attributes: { version }
})

export const all = [buildInfo]
