// The metrics of the audit log.
import { Metric } from "effect"

export const auditUnlinkedRecords = Metric.gauge("audit_unlinked_records", {
  description: "Records of the audit log that are not linked to the chain yet, of all instances."
})

export const all = [auditUnlinkedRecords]
