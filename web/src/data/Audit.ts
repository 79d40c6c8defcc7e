// The audit log: who changed what, and whether the chain of records is whole.
import { Effect } from "effect"
import type { AuditRecord } from "../../../src/client/Client.ts"
import { AuditQuery } from "../../../src/domain/audit/Audit.ts"
import { call } from "./Client.ts"
import { pageOf, queryReader } from "./Pages.ts"
import { queries } from "./Registry.ts"

export type { AuditRecord }

const readQuery = queryReader(AuditQuery)

/** The audit records that the parameters of the address select, the newest first. */
export const auditPage = queries((key) =>
  call(({ audit }) =>
    Effect.flatMap(readQuery(key), (query) => pageOf(audit.list({ query, responseMode: "decoded-and-response" })))
  )
)
