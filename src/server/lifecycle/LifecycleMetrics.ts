// The metrics of the jobs and of the database connections.
import { Metric } from "effect"

export const jobHealthy = Metric.gauge("job_healthy", {
  description: "1 while a job of this instance does its work, 0 while it does not, by job."
})

export const databaseConnections = Metric.gauge("database_connections", {
  description: "Connections of all instances to the database, by state."
})

export const componentHealthy = Metric.gauge("component_healthy", {
  description:
    "0 while a component of readiness, `audit` or `events`, has a problem that an operator has to solve, else 1."
})

export const all = [jobHealthy, componentHealthy, databaseConnections]
